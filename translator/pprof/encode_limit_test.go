// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Small messages in which entries occur once that a pprof repeats in every sample.
var largeMessages = map[string]func(n int) pprofile.Profiles{
	"long stacks": func(n int) pprofile.Profiles {
		m := newMessage()
		location := m.dict.Location(dictionary.Location{Address: 1}, nil, nil)
		stack := m.dict.Stack(slices.Repeat([]int32{location}, n))
		p := m.profile("a/1")
		for i := range n {
			m.sample(p, stack, []int64{1}, m.attribute("n", i, ""))
		}
		return m.done()
	},
	"long labels": func(n int) pprofile.Profiles {
		m := newMessage()
		list := m.attribute("list", slices.Repeat([]any{"x"}, n), "")
		p := m.profile("a/1")
		for i := range n {
			m.sample(p, 0, []int64{1}, list, m.attribute("n", i, ""))
		}
		return m.done()
	},
	"many types": func(n int) pprofile.Profiles {
		m := newMessage()
		for i := range n {
			p := m.profile(fmt.Sprintf("type %d/1", i))
			m.sample(p, 0, []int64{1}, m.attribute("n", i, ""))
		}
		return m.done()
	},
}

// TestPprofBytes: above the limit all profiles of a pprof are refused, but not those of the next pprof.
func TestPprofBytes(t *testing.T) {
	for name, build := range largeMessages {
		t.Run(name, func(t *testing.T) {
			const n = 2000
			pd := build(n)
			wantProfiles, _ := countProfiles(pd)
			small := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
			small.Samples().AppendEmpty().Values().Append(7)

			limit := len(marshalled(t, pd)) * 5
			require.Less(t, limit, n*n)
			all, faults := encodeWithFaults(t, pd, pprof.EncodeOptions{PprofBytes: limit})
			require.Len(t, all, 1)
			assert.Equal(t, []string{" [7]"}, all[0].samples())
			positions := map[int]bool{}
			for _, fault := range faults {
				require.ErrorIs(t, fault, pprof.ErrTooLarge)
				require.ErrorContains(t, fault, "bytes of the pprofs of a message: ")
				require.ErrorContains(t, fault, fmt.Sprintf(", the limit is %d", limit))
				positions[fault.Profile] = true
			}
			assert.Len(t, positions, wantProfiles, "each profile is named")

			all = encode(t, pd, pprof.EncodeOptions{PprofBytes: 200 * limit})
			require.Len(t, all, 2)
			assert.Equal(t, wantProfiles, all[0].Profiles)
		})
	}
}

// TestPprofBytesAndOtherFaults: if a pprof is too large only because of one profile, only that profile is refused.
func TestPprofBytesAndOtherFaults(t *testing.T) {
	m := newMessage()
	location := m.dict.Location(dictionary.Location{Address: 1}, nil, nil)
	m.sample(m.profile("a/1"), m.dict.Stack(slices.Repeat([]int32{location}, 5000)), []int64{1})
	m.sample(m.profile("b/2"), m.stack("f"), []int64{2})
	all, faults := encodeWithFaults(t, m.done(), pprof.EncodeOptions{PprofBytes: 1000})
	require.Len(t, faults, 1)
	assert.Equal(t, 0, faults[0].Profile)
	require.Len(t, all, 1)
	assert.Equal(t, []string{"b/2"}, all[0].types())
}

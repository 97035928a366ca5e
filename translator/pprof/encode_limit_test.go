// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
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

// longStack returns a message with one stack of n locations.
func longStack(n int) (*message, int32) {
	m := newMessage()
	location := m.dict.Location(dictionary.Location{Address: 1}, nil, nil)
	return m, m.dict.Stack(slices.Repeat([]int32{location}, n))
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

			limit := len(profiletest.Marshal(t, pd)) * 5
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

// TestPprofsOfAResource: if the pprofs of a resource fit one by one, but not together, none of them is written. Those of the
// other resources are.
func TestPprofsOfAResource(t *testing.T) {
	const limit = 1 << 20
	m, stack := longStack(10_000)
	for i := range 200 {
		p := m.profile("a/1")
		p.SetTime(pcommon.Timestamp(i + 1))
		m.sample(p, stack, []int64{1})
	}
	next := m.profileIn(m.addResource("next"), "a/1")
	m.sample(next, 0, []int64{7})

	all, faults := encodeWithFaults(t, m.done(), pprof.EncodeOptions{PprofBytes: limit})
	require.Len(t, all, 1)
	assert.Equal(t, 1, all[0].ResourceIndex)
	require.Len(t, faults, 200)
	for i, fault := range faults {
		require.Equal(t, i, fault.Profile)
		require.Equal(t, faults[0].Err, fault.Err, "the size is computed once")
	}
	require.ErrorIs(t, faults[0], pprof.ErrTooLarge)
	assert.ErrorContains(t, faults[0], fmt.Sprintf("bytes of the pprofs of a message: 1053312, the limit is %d", limit))
}

// TestPprofsOfAScopeWithOrder: profiles with the order of their types are several pprofs if their times differ. Then none of those that
// fit one by one, but not together, is written.
func TestPprofsOfAScopeWithOrder(t *testing.T) {
	for profiles, limit := range map[int]int{2: 15_000, 200: 1 << 20} {
		t.Run(strconv.Itoa(profiles), func(t *testing.T) {
			m, stack := longStack(10_000)
			order := m.pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Scope().Attributes().PutEmptySlice("pprof.scope.sample_type_order")
			for i := range profiles {
				p := m.profile("a/1")
				p.SetTime(pcommon.Timestamp(i + 1))
				m.sample(p, stack, []int64{1})
				order.AppendEmpty().SetInt(int64(i))
			}

			all, faults := encodeWithFaults(t, m.done(), pprof.EncodeOptions{PprofBytes: limit})
			require.Len(t, faults, profiles)
			require.ErrorIs(t, faults[0], pprof.ErrTooLarge)
			assert.Empty(t, all, "written pprofs")
		})
	}
}

// TestPprofsOfAResourceBounds: a bound that refuses a pprof before its size is known refuses all pprofs of its resource.
func TestPprofsOfAResourceBounds(t *testing.T) {
	m := newMessage()
	for profile := range 2 {
		p := m.profile("a/1")
		p.SetTime(pcommon.Timestamp(profile + 1))
		for i := range 2000 {
			digits := fmt.Sprintf("%04d", i)
			m.sample(p, m.stack(digits[:1], digits[1:2], digits[2:3], digits[3:]), []int64{1})
		}
	}
	pd := m.done()
	for limit := 20_000; limit < 140_000; limit += 2000 {
		all, faults := encodeWithFaults(t, pd, pprof.EncodeOptions{PprofBytes: limit})
		if assert.Len(t, all, 2-len(faults)) && len(faults) == 1 {
			assert.Fail(t, "half of a resource is written", "the limit is %d", limit)
		}
	}
}

// TestPprofsThatFitExactly: the size that decides is the one that is written, and what is written before counts.
func TestPprofsThatFitExactly(t *testing.T) {
	m, stack := longStack(10_000)
	for i := range 6 {
		scope := m.pd.ResourceProfiles().At(0).ScopeProfiles().At(0)
		if i%3 == 0 {
			scope = m.addResource(strconv.Itoa(i))
		}
		p := m.profileIn(scope, "a/1")
		p.SetTime(pcommon.Timestamp(i + 1))
		m.sample(p, stack, []int64{1})
	}
	pd := m.done()
	written := 0
	for _, payload := range encode(t, pd, pprof.EncodeOptions{}) {
		written += len(payload.Pprof)
	}
	const slack = 100 // the size is known exactly only after the pprof was written
	assert.Len(t, encode(t, pd, pprof.EncodeOptions{PprofBytes: written + slack}), 6)
	all, faults := encodeWithFaults(t, pd, pprof.EncodeOptions{PprofBytes: written - 1})
	assert.Len(t, all, 5)
	assert.Len(t, faults, 1)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"slices"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestCombine combines all captured profiles into one message. Each is unchanged, with labels, links and the order of
// mappings, and entries that they share occur once.
func TestCombine(t *testing.T) {
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	var messages []pprofile.Profiles
	var originals []*profile.Profile
	strings := 0
	for _, payload := range profiletest.ClientPayloads(t) {
		if payload.Legacy {
			continue
		}
		message, _, err := decoder.Decode(payload.Data, pprof.Source{Resource: pcommon.NewMap()})
		require.NoError(t, err)
		strings += message.Dictionary().StringTable().Len()
		messages = append(messages, message)
		inflated, err := inflate.Append(nil, payload.Data, 1<<20)
		require.NoError(t, err)
		original, err := profile.ParseData(inflated)
		require.NoError(t, err)
		originals = append(originals, original)
	}
	whole, err := combine(messages, false)
	require.NoError(t, err)
	require.NoError(t, profiletest.Check(whole))
	assert.Less(t, whole.Dictionary().StringTable().Len(), strings/2)
	require.Equal(t, 1, whole.ResourceProfiles().Len(), "one resource")
	require.Equal(t, len(originals), whole.ResourceProfiles().At(0).ScopeProfiles().Len())

	i := 0
	for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(whole) {
		require.NoError(t, err)
		got, err := profile.ParseData(payload.Pprof)
		require.NoError(t, err)
		assert.Empty(t, profiletest.DiffPprof(originals[i], got), "profile %d", i)
		i++
	}
	assert.Equal(t, len(originals), i)
}

// TestCombineMappings keeps the order of mappings, and unused ones if configured.
func TestCombineMappings(t *testing.T) {
	message := func(options pprof.DecodeOptions) pprofile.Profiles {
		p := cpuProfile(1)
		for i, file := range []string{"main", "unused", "lib"} {
			p.Mapping = append(p.Mapping, &profile.Mapping{ID: uint64(i + 1), Start: uint64(i) * 0x1000, Limit: uint64(i+1) * 0x1000, File: file})
		}
		first := p.Location[0]
		first.Mapping = p.Mapping[2] // The stack's first mapping is the last one of the table.
		second := &profile.Location{ID: 2, Mapping: p.Mapping[0], Address: 1}
		p.Location = append(p.Location, second)
		p.Sample[0].Location = append(p.Sample[0].Location, second)
		out, _, err := pprof.NewDecoder(options).Decode(plain(t, p), pprof.Source{Resource: pcommon.NewMap()})
		require.NoError(t, err)
		return out
	}
	for all, want := range map[bool][]string{false: {"", "main", "lib"}, true: {"", "main", "unused", "lib"}} {
		options := pprof.DecodeOptions{KeepUnreferencedMappings: all}
		whole, err := combine([]pprofile.Profiles{message(options), message(options)}, all)
		require.NoError(t, err)
		var files []string
		for _, mapping := range whole.Dictionary().MappingTable().All() {
			files = append(files, whole.Dictionary().StringTable().At(int(mapping.FilenameStrindex())))
		}
		assert.True(t, slices.Equal(want, files), files)
	}
}

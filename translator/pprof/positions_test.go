// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// TestPayloadPositions: a payload has the positions of its profiles in the message. Each profile is in one payload or in
// one error.
func TestPayloadPositions(t *testing.T) {
	pd := pprofile.NewProfiles()
	times := [][][]int{{{1, 1, 2}}, {{1}, {2, 3, 2}}} // by profile, scope and resource
	for _, scopes := range times {
		resource := pd.ResourceProfiles().AppendEmpty()
		for _, profiles := range scopes {
			scope := resource.ScopeProfiles().AppendEmpty()
			for i, at := range profiles {
				p := scope.Profiles().AppendEmpty()
				p.SetTime(1000)
				p.SetDurationNano(uint64(at))
				p.SampleType().SetTypeStrindex(int32(i % 2))
			}
		}
	}
	dictionary := pd.Dictionary()
	dictionary.StringTable().Append("", "cpu")
	dictionary.MappingTable().AppendEmpty()
	dictionary.LocationTable().AppendEmpty()
	dictionary.FunctionTable().AppendEmpty()
	dictionary.LinkTable().AppendEmpty()
	dictionary.AttributeTable().AppendEmpty()
	dictionary.StackTable().AppendEmpty()
	seen := map[[3]int]int{}
	for payload, err := range NewEncoder(EncodeOptions{}).All(pd) {
		require.NoError(t, err)
		require.Len(t, payload.Positions, payload.Profiles)
		for _, position := range payload.Positions {
			profile := pd.ResourceProfiles().At(payload.ResourceIndex).ScopeProfiles().At(payload.ScopeIndex).Profiles().At(position)
			assert.Equal(t, payload.DurationNano, profile.DurationNano())
			seen[[3]int{payload.ResourceIndex, payload.ScopeIndex, position}]++
		}
	}
	assert.Len(t, seen, 7)
	for at, count := range seen {
		assert.Equal(t, 1, count, at)
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

// appendUnused appends entries to which only each other refer.
func appendUnused(d pprofile.ProfilesDictionary) {
	text := int32(d.StringTable().Len())
	d.StringTable().Append("unused")
	function := int32(d.FunctionTable().Len())
	d.FunctionTable().AppendEmpty().SetNameStrindex(text)
	d.MappingTable().AppendEmpty().SetFilenameStrindex(text)
	location := int32(d.LocationTable().Len())
	d.LocationTable().AppendEmpty().Lines().AppendEmpty().SetFunctionIndex(function)
	d.StackTable().AppendEmpty().LocationIndices().Append(location)
	attribute := d.AttributeTable().AppendEmpty()
	attribute.SetKeyStrindex(text)
	attribute.Value().SetStr("unused")
	d.LinkTable().AppendEmpty().SetSpanID([8]byte{1})
}

// TestUnusedEnds: unused entries at the ends of the tables are removed, without a change of any index. Samples are combined as
// without such entries.
func TestUnusedEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pd, _ := deduplicate(t, gen.Profiles().Draw(t, "message"))
		if rapid.Bool().Draw(t, "two equal samples") {
			repeatSample(pd)
		}
		before := clone(pd)
		appendUnused(pd.Dictionary())
		want, stats := deduplicate(t, before)
		assert.False(t, stats.TablesChanged)
		got, stats := deduplicate(t, pd)
		assert.True(t, stats.TablesChanged)
		requireCanonical(t, got)
		assert.Equal(t, profiletest.Marshal(t, want), profiletest.Marshal(t, got))
	})
}

// repeatSample appends the first sample of each profile to the profile.
func repeatSample(pd pprofile.Profiles) {
	for _, resource := range pd.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				if samples := profile.Samples(); samples.Len() > 0 {
					samples.At(0).CopyTo(samples.AppendEmpty())
				}
			}
		}
	}
}

// TestTablesChanged: without TablesChanged, the dictionary is unchanged.
func TestTablesChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "message")
		if rapid.Bool().Draw(t, "canonical") {
			pd, _ = deduplicate(t, pd)
			repeatSample(pd)
		}
		before := dictionaryOf(t, pd)
		after, stats := deduplicate(t, pd)
		if !stats.TablesChanged {
			require.Equal(t, before, dictionaryOf(t, after))
		}
	})
}

// dictionaryOf returns the encoded dictionary.
func dictionaryOf(t profiletest.T, pd pprofile.Profiles) []byte {
	alone := pprofile.NewProfiles()
	pd.Dictionary().CopyTo(alone.Dictionary())
	return profiletest.Marshal(t, alone)
}

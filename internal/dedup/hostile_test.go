// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// Resources and scopes that differ in one field only are not all compared with each other.
func TestManyContainersThatDifferInOneField(t *testing.T) {
	n := many(t) / 4
	for name, fill := range map[string]func(resource pprofile.ResourceProfiles, scope pprofile.ScopeProfiles, i int){
		"schema of the resource": func(resource pprofile.ResourceProfiles, _ pprofile.ScopeProfiles, i int) {
			resource.SetSchemaUrl(strconv.Itoa(i))
		},
		"dropped attributes of the resource": func(resource pprofile.ResourceProfiles, _ pprofile.ScopeProfiles, i int) {
			resource.Resource().SetDroppedAttributesCount(uint32(i))
		},
		"schema of the scope": func(_ pprofile.ResourceProfiles, scope pprofile.ScopeProfiles, i int) {
			scope.SetSchemaUrl(strconv.Itoa(i))
		},
		"version of the scope": func(_ pprofile.ResourceProfiles, scope pprofile.ScopeProfiles, i int) {
			scope.Scope().SetVersion(strconv.Itoa(i))
		},
		"dropped attributes of the scope": func(_ pprofile.ResourceProfiles, scope pprofile.ScopeProfiles, i int) {
			scope.Scope().SetDroppedAttributesCount(uint32(i))
		},
	} {
		t.Run(name, func(t *testing.T) {
			pd := pprofile.NewProfiles()
			for i := range n {
				resource := pd.ResourceProfiles().AppendEmpty()
				scope := resource.ScopeProfiles().AppendEmpty()
				fill(resource, scope, i)
				scope.Profiles().AppendEmpty()
			}
			after, _ := deduplicate(t, pd)
			assert.Equal(t, n, after.ProfileCount())
			scopes := 0
			for _, resource := range after.ResourceProfiles().All() {
				scopes += resource.ScopeProfiles().Len()
			}
			assert.Equal(t, n, scopes, "none is equal to another")
		})
	}
}

// Index 0 is the empty string, also if the table is empty.
func TestDroppedAttributesWithoutStrings(t *testing.T) {
	pd := pprofile.NewProfiles()
	pd.Dictionary().AttributeTable().AppendEmpty()
	pd.Dictionary().AttributeTable().AppendEmpty().Value().SetInt(1)
	sample := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty().Samples().AppendEmpty()
	sample.AttributeIndices().Append(1)
	for key, left := range map[string]int{"thread.id": 1, "": 0} {
		after, stats, err := dedup.New(dedup.Options{DropAttributes: []string{key}}).Deduplicate(clone(pd))
		require.NoError(t, err)
		assert.Equal(t, left, rows(after)[0].attributes, key)
		assert.Equal(t, 1-left, stats.DroppedAttributes, key)
		requireCanonical(t, after)
	}
}

// If each sample becomes its own part, Split does not visit the whole message for each part.
func TestManyParts(t *testing.T) {
	n := many(t) / 10
	pd := samplesOf(func(sample func(int32) pprofile.Sample) {
		for range n {
			sample(0).Values().Append(1)
		}
	})
	d := pd.Dictionary()
	samples := onlyProfile(pd).Samples()
	for i := range n {
		d.LocationTable().AppendEmpty().SetAddress(uint64(i + 1))
		d.StackTable().AppendEmpty().LocationIndices().Append(int32(d.LocationTable().Len() - 1))
		samples.At(i).SetStackIndex(int32(d.StackTable().Len() - 1))
	}
	pd, _ = deduplicate(t, pd)
	parts := split(pd, 2, 0)
	require.Len(t, parts, n/2)
	for _, part := range parts {
		require.Equal(t, dictionary.Lengths{
			dictionary.Strings: 3, dictionary.Functions: 1, dictionary.Mappings: 1, dictionary.Locations: 3, dictionary.Stacks: 3, dictionary.Attributes: 1, dictionary.Links: 1,
		}, lengths(part))
	}
}

// deep is the depth of hostile values: however small the frames of a recursion are, they do not fit into the stack of the tests.
const deep = 100_000

// TestTooDeep puts values that are too deep in all places of attributes. The limit of Go's stack is far
// below the needs of a recursion that deep.
func TestTooDeep(t *testing.T) {
	profiletest.LimitStack(t, 1<<20)
	for _, place := range profiletest.DeepPlaces() {
		spoilt := func() pprofile.Profiles {
			pd := samplesOf(func(sample func(int32) pprofile.Sample) { sample(0).Values().Append(1) })
			sound := clone(pd)
			sound.ResourceProfiles().At(0).Resource().Attributes().PutStr("which", "sound")
			profiletest.Deepen(sound, place, attributevalue.MaxDepth)
			profiletest.Deepen(pd, place, deep)
			pd = dedup.Join([]pprofile.Profiles{pd, sound})
			return pd
		}
		t.Run(place, func(t *testing.T) {
			after, stats, err := dedup.New(dedup.Options{}).Deduplicate(spoilt())
			require.NoError(t, err)
			assert.Equal(t, 1, stats.Invalid[dedup.TooDeep])
			assert.Equal(t, 1, after.ProfileCount())
			which, _ := after.ResourceProfiles().At(0).Resource().Attributes().Get("which")
			assert.Equal(t, "sound", which.Str())
			requireCanonical(t, after)

			_, stats, err = dedup.New(dedup.Options{OnInvalid: dedup.Reject}).Deduplicate(spoilt())
			assert.Equal(t, 1, stats.Invalid[dedup.TooDeep])
			require.ErrorContains(t, err, `of resource 0 is invalid: `)
			require.ErrorContains(t, err, `attribute "deep" is too deep: at least 33 lists or maps within one another, the limit is 32`)

			before := spoilt()
			after, stats, err = dedup.New(dedup.Options{OnInvalid: dedup.Pass}).Deduplicate(before)
			require.NoError(t, err)
			assert.False(t, stats.Changed)
			assert.Equal(t, before, after)
			assert.Equal(t, 2, after.ProfileCount())
		})
	}
}

// TestDeepAttributesOfNothing: unused attributes are removed, however deep they are, and no profile is dropped.
func TestDeepAttributesOfNothing(t *testing.T) {
	profiletest.LimitStack(t, 1<<20)
	for _, onInvalid := range []dedup.OnInvalid{dedup.DropProfile, dedup.Reject, dedup.Pass} {
		pd := samplesOf(func(sample func(int32) pprofile.Sample) { sample(0).Values().Append(1) })
		profiletest.Nest(pd.Dictionary().AttributeTable().AppendEmpty().Value(), deep)
		for range 2 { // which would be compared
			resource := pd.ResourceProfiles().AppendEmpty()
			profiletest.Nest(resource.Resource().Attributes().PutEmpty("deep"), deep)
			for range 2 {
				profiletest.Nest(resource.ScopeProfiles().AppendEmpty().Scope().Attributes().PutEmpty("deep"), deep)
			}
		}
		after, stats, err := dedup.New(dedup.Options{OnInvalid: onInvalid}).Deduplicate(pd)
		require.NoError(t, err)
		assert.Zero(t, stats.Invalid[dedup.TooDeep])
		assert.Equal(t, 1, after.ResourceProfiles().Len())
		assert.Equal(t, 1, after.Dictionary().AttributeTable().Len())
		requireCanonical(t, after)
	}
}

// TestDeepTextIsLeftAlone: text is mended up to the maximum depth of a value, and so is the rest of the message.
func TestDeepTextIsLeftAlone(t *testing.T) {
	pd := samplesOf(func(sample func(int32) pprofile.Sample) { sample(0).Values().Append(1) })
	resource := pd.ResourceProfiles().At(0).Resource().Attributes()
	profiletest.Nest(resource.PutEmpty("list"), 1).Slice().At(0).SetStr("a\xff")
	profiletest.Nest(pd.ResourceProfiles().AppendEmpty().Resource().Attributes().PutEmpty("deep"), deep)
	profiletest.LimitStack(t, 1<<20)
	after, stats, err := dedup.New(dedup.Options{}).Deduplicate(pd)
	require.NoError(t, err)
	assert.Equal(t, 1, stats.MendedTexts)
	list, _ := after.ResourceProfiles().At(0).Resource().Attributes().Get("list")
	assert.Equal(t, "a\ufffd", list.Slice().At(0).Str())
}

// TestPartsThatRepeat: a message of a thousand resources with the same entries is split only if the parts have 32 MiB of entries at most. It
// fails early.
func TestPartsThatRepeat(t *testing.T) {
	split := func(text, resources int) (parts int, err error) {
		pd := samplesOf(func(sample func(int32) pprofile.Sample) { sample(1).Values().Append(1) })
		pd.Dictionary().StringTable().SetAt(3, strings.Repeat("m", text))
		groups := []int{0}
		for i := 1; i < resources; i++ {
			pd.ResourceProfiles().At(0).CopyTo(pd.ResourceProfiles().AppendEmpty())
			groups = append(groups, i)
		}
		err = dedup.SplitResources(pd, groups, resources, func(int, pprofile.Profiles) bool {
			parts++
			return true
		})
		return parts, err
	}
	parts, err := split(32000, 1000)
	require.NoError(t, err)
	assert.Equal(t, 1000, parts)
	parts, err = split(6<<20, 6)
	require.NoError(t, err, "six times the entries of the message")
	assert.Equal(t, 6, parts)
	for _, large := range [][2]int{{34000, 1000}, {6 << 20, 7}} {
		parts, err = split(large[0], large[1])
		require.ErrorContains(t, err, "parts repeat dictionary entries and need more than")
		assert.Zero(t, parts)
	}
}

// TestPartsOfDeepValues: SplitResources handles a message that Deduplicate has not checked.
func TestPartsOfDeepValues(t *testing.T) {
	profiletest.LimitStack(t, 1<<20)
	for _, place := range profiletest.DeepPlaces() {
		pd := samplesOf(func(sample func(int32) pprofile.Sample) { sample(0).Values().Append(1) })
		pd = dedup.Join([]pprofile.Profiles{pd, clone(pd)})
		profiletest.Deepen(pd, place, deep)
		parts := 0
		err := dedup.SplitResources(pd, []int{0, 1}, 2, func(int, pprofile.Profiles) bool {
			parts++
			return true
		})
		if place == "resource" || place == "scope" {
			require.NoError(t, err, "these are moved")
			assert.Equal(t, 2, parts)
			continue
		}
		require.ErrorContains(t, err, `attribute "deep" is too deep`, place)
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

func anyType(string, string) bool { return true }

// addProfile adds a profile of type samples/count with one sample of value 1.
func addProfile(pd pprofile.Profiles, id byte, time, duration uint64) pprofile.Profile {
	if pd.ResourceProfiles().Len() == 0 {
		pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty()
		pd.Dictionary().StringTable().FromRaw([]string{"", "samples", "count"})
		pd.Dictionary().StackTable().AppendEmpty()
	}
	p := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().AppendEmpty()
	p.SetProfileID(pprofile.ProfileID{id})
	p.SampleType().SetTypeStrindex(1)
	p.SampleType().SetUnitStrindex(2)
	p.SetTime(pcommon.Timestamp(time))
	p.SetDurationNano(duration)
	p.Samples().AppendEmpty().Values().Append(1)
	return p
}

func merge(t *testing.T, pd pprofile.Profiles) (merged int, profiles pprofile.ProfilesSlice) {
	t.Helper()
	pd, _ = deduplicate(t, pd)
	merged = dedup.MergeProfiles(pd, anyType)
	pd, _ = deduplicate(t, pd)
	return merged, pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
}

func TestMergedProfilesCoverTheTimeOfAll(t *testing.T) {
	pd := pprofile.NewProfiles()
	addProfile(pd, 1, 100, 10)
	addProfile(pd, 2, 90, 5)
	addProfile(pd, 3, 105, 20)
	merged, profiles := merge(t, pd)
	assert.Equal(t, 2, merged)
	require.Equal(t, 1, profiles.Len())
	p := profiles.At(0)
	assert.EqualValues(t, 90, p.Time())
	assert.EqualValues(t, 35, p.DurationNano())
	require.Equal(t, 1, p.Samples().Len())
	assert.Equal(t, []int64{3}, p.Samples().At(0).Values().AsRaw())
	assert.NotEqual(t, pprofile.ProfileID{1}, p.ProfileID())
	assert.False(t, p.ProfileID().IsEmpty())
}

func TestProfilesOfOtherTypesAreNotMerged(t *testing.T) {
	for name, change := range map[string]func(pprofile.Profile){
		"type":        func(p pprofile.Profile) { p.SampleType().SetTypeStrindex(2) },
		"unit":        func(p pprofile.Profile) { p.SampleType().SetUnitStrindex(1) },
		"period type": func(p pprofile.Profile) { p.PeriodType().SetTypeStrindex(1) },
		"period unit": func(p pprofile.Profile) { p.PeriodType().SetUnitStrindex(1) },
		"period":      func(p pprofile.Profile) { p.SetPeriod(7) },
	} {
		pd := pprofile.NewProfiles()
		addProfile(pd, 1, 100, 10)
		change(addProfile(pd, 2, 110, 10))
		merged, profiles := merge(t, pd)
		assert.Zero(t, merged, name)
		assert.Equal(t, 2, profiles.Len(), name)
	}
}

// The sum of two heap profiles that count from the start of their process means nothing.
func TestProfilesThatCoverNoTimeAreNotMerged(t *testing.T) {
	for _, span := range [][2]uint64{{100, 0}, {0, 10}, {0, 0}} {
		pd := pprofile.NewProfiles()
		addProfile(pd, 1, 100, 10)
		addProfile(pd, 2, span[0], span[1])
		addProfile(pd, 3, span[0], span[1])
		merged, profiles := merge(t, pd)
		assert.Zero(t, merged, span)
		assert.Equal(t, 3, profiles.Len(), span)
	}
}

// An id derived from no id would be the same for all such profiles, and they would look repeated.
func TestMergedProfileHasNoIDIfOneHadNone(t *testing.T) {
	for _, ids := range [][3]byte{{0, 1, 2}, {1, 0, 2}, {1, 2, 0}, {0, 0, 0}} {
		pd := pprofile.NewProfiles()
		for _, id := range ids {
			addProfile(pd, id, 100, 10)
		}
		merged, profiles := merge(t, pd)
		assert.Equal(t, 2, merged)
		assert.True(t, profiles.At(0).ProfileID().IsEmpty(), ids)
	}
}

func TestMergedTimeDoesNotOverflow(t *testing.T) {
	pd := pprofile.NewProfiles()
	addProfile(pd, 1, 100, 10)
	addProfile(pd, 2, 200, math.MaxUint64)
	_, profiles := merge(t, pd)
	require.Equal(t, 1, profiles.Len())
	assert.EqualValues(t, 100, profiles.At(0).Time())
	assert.Equal(t, uint64(math.MaxUint64-100), profiles.At(0).DurationNano())
}

func TestPartsOfAProfileWithoutIDHaveNone(t *testing.T) {
	for _, id := range []byte{0, 7} {
		pd := pprofile.NewProfiles()
		p := addProfile(pd, id, 100, 10)
		for stack := range int32(3) {
			pd.Dictionary().LocationTable().AppendEmpty().SetAddress(uint64(stack))
			pd.Dictionary().StackTable().AppendEmpty().LocationIndices().Append(stack)
			s := p.Samples().AppendEmpty()
			s.SetStackIndex(stack + 1)
			s.Values().Append(1)
		}
		pd, _ = deduplicate(t, pd)
		ids := map[pprofile.ProfileID]bool{}
		parts := split(pd, 1, 0)
		for _, part := range parts {
			ids[part.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).ProfileID()] = true
		}
		if id == 0 {
			assert.Equal(t, map[pprofile.ProfileID]bool{{}: true}, ids)
		} else {
			assert.Len(t, ids, len(parts))
		}
	}
}

// A profile that is sent again can be split elsewhere. A part with the id of another part has the same samples: otherwise a tier that
// drops repeated profiles would lose some.
func TestPartsOfOtherSamplesHaveOtherIDs(t *testing.T) {
	samplesOf := map[pprofile.ProfileID][]int32{}
	for _, most := range []int{2, 3, 4, 6, 7} {
		pd := pprofile.NewProfiles()
		p := addProfile(pd, 7, 100, 10)
		p.Samples().RemoveIf(func(pprofile.Sample) bool { return true })
		for stack := range int32(7) {
			pd.Dictionary().LocationTable().AppendEmpty().SetAddress(uint64(stack))
			pd.Dictionary().StackTable().AppendEmpty().LocationIndices().Append(stack)
			s := p.Samples().AppendEmpty()
			s.SetStackIndex(stack + 1)
			s.Values().Append(int64(stack))
		}
		pd, _ = deduplicate(t, pd)
		for _, part := range split(pd, most, 0) {
			for profile := range walk.Profiles(part) {
				var samples []int32
				for _, s := range profile.Samples().All() {
					samples = append(samples, int32(s.Values().At(0)))
				}
				if other, found := samplesOf[profile.ProfileID()]; found {
					assert.Equal(t, other, samples)
				}
				samplesOf[profile.ProfileID()] = samples
			}
		}
	}
	assert.Len(t, samplesOf, 4+3+2+2+1-2, "the last sample is alone three times")
	assert.Len(t, samplesOf[pprofile.ProfileID{7}], 7, "a whole profile keeps its id")
}

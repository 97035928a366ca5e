// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
)

// many is the number of hostile entries. With it, work that is not linear exceeds the time limit of a test.
func many(t *testing.T) int {
	t.Helper()
	if testing.Short() {
		return 50_000
	}
	return 1_000_000
}

func TestManyEqualEvents(t *testing.T) {
	n := many(t)
	pd := samplesOf(func(sample func(int32) pprofile.Sample) {
		for i := range n {
			event := sample(1)
			event.Values().Append(int64(i))
			event.TimestampsUnixNano().Append(uint64(n - i))
		}
	})
	after, _ := deduplicate(t, pd)
	all := rows(after)
	require.Len(t, all, 1)
	require.Len(t, all[0].values, n)
	for i, v := range all[0].values {
		require.Equal(t, uint64(n)-uint64(v), all[0].timestamps[i], "pairs stay together")
	}
}

func TestManyDistinctStrings(t *testing.T) {
	n := many(t)
	pd := samplesOf(func(sample func(int32) pprofile.Sample) {
		for range n {
			sample(0).Values().Append(1)
		}
	})
	d := pd.Dictionary()
	samples := onlyProfile(pd).Samples()
	for i := range n {
		d.StringTable().Append("request-" + strconv.Itoa(i))
		a := d.AttributeTable().AppendEmpty()
		a.SetKeyStrindex(int32(d.StringTable().Len() - 1))
		a.Value().SetInt(1)
		samples.At(i).AttributeIndices().Append(int32(d.AttributeTable().Len() - 1))
	}
	after, _ := deduplicate(t, pd)
	assert.Equal(t, n, after.SampleCount())
	assert.Equal(t, n+1, after.Dictionary().AttributeTable().Len())
}

func TestDoublesThatAreEqual(t *testing.T) {
	pd := samplesOf(func(sample func(int32) pprofile.Sample) {
		for range 6 {
			sample(0).Values().Append(1)
		}
	})
	samples := onlyProfile(pd).Samples()
	for i, f := range []float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0x7ff8dead00000000), 1, math.Inf(1)} {
		a := pd.Dictionary().AttributeTable().AppendEmpty()
		a.SetKeyStrindex(5)
		a.Value().SetDouble(f)
		samples.At(i).AttributeIndices().Append(int32(pd.Dictionary().AttributeTable().Len() - 1))
	}
	after, _ := deduplicate(t, pd)
	assert.Equal(t, []row{
		{values: []int64{2}, attributes: 1},
		{values: []int64{2}, attributes: 1},
		{values: []int64{1}, attributes: 1},
		{values: []int64{1}, attributes: 1},
	}, rows(after))
}

func TestBrokenEntriesAreLookedAtOnce(t *testing.T) {
	n := many(t) / 10
	pd := samplesOf(func(sample func(int32) pprofile.Sample) { sample(0).Values().Append(1) })
	long := pd.Dictionary().StackTable().AppendEmpty().LocationIndices()
	for range n {
		long.Append(1)
	}
	long.Append(99)
	profiles := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
	for range n {
		profile := profiles.AppendEmpty()
		profiles.At(0).SampleType().CopyTo(profile.SampleType())
		profile.Samples().AppendEmpty().SetStackIndex(2)
	}
	after, stats := deduplicate(t, pd)
	assert.Equal(t, 1, after.ProfileCount())
	assert.Equal(t, n, stats.Invalid[dedup.IndexOutOfRange])
	requireCanonical(t, after)
}

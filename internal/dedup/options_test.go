// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

// samplesOf makes a profile of cpu/nanoseconds whose samples have one stack and the attribute thread.id.
func samplesOf(add func(sample func(thread int32) pprofile.Sample)) pprofile.Profiles {
	pd := pprofile.NewProfiles()
	d := pd.Dictionary()
	d.StringTable().FromRaw([]string{"", "cpu", "nanoseconds", "main", "thread.id", "region"})
	d.FunctionTable().AppendEmpty()
	d.FunctionTable().AppendEmpty().SetNameStrindex(3)
	d.MappingTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.LocationTable().AppendEmpty().Lines().AppendEmpty().SetFunctionIndex(1)
	d.StackTable().AppendEmpty()
	d.StackTable().AppendEmpty().LocationIndices().Append(1)
	d.LinkTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	for thread := range 2 {
		a := d.AttributeTable().AppendEmpty()
		a.SetKeyStrindex(4)
		a.Value().SetInt(int64(thread + 1))
	}
	a := d.AttributeTable().AppendEmpty()
	a.SetKeyStrindex(5)
	a.Value().SetStr("eu")
	profile := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	profile.SampleType().SetTypeStrindex(1)
	profile.SampleType().SetUnitStrindex(2)
	profile.SetTime(100)
	profile.SetDurationNano(100)
	add(func(thread int32) pprofile.Sample {
		sample := profile.Samples().AppendEmpty()
		sample.SetStackIndex(1)
		if thread > 0 {
			sample.AttributeIndices().Append(thread, 3)
		}
		return sample
	})
	return pd
}

// row is a sample: its values, its timestamps, and how many attributes it has.
type row struct {
	values     []int64
	timestamps []uint64
	attributes int
}

func rows(pd pprofile.Profiles) (result []row) {
	for _, sample := range onlyProfile(pd).Samples().All() {
		result = append(result, row{
			append([]int64(nil), sample.Values().AsRaw()...),
			append([]uint64(nil), sample.TimestampsUnixNano().AsRaw()...),
			sample.AttributeIndices().Len(),
		})
	}
	return result
}

func TestShapes(t *testing.T) {
	message := func() pprofile.Profiles {
		return samplesOf(func(sample func(int32) pprofile.Sample) {
			a := sample(0)
			a.Values().Append(10, 20)
			a.TimestampsUnixNano().Append(101, 102)
			b := sample(0)
			b.Values().Append(30)
			b.TimestampsUnixNano().Append(103)
			sample(0).TimestampsUnixNano().Append(104, 105, 106)
			sample(0).Values().Append(5)
			sample(0).Values().Append(7)
		})
	}
	tests := []struct {
		name   string
		shape  dedup.Shape
		period int64
		mixed  int
		want   []row
	}{
		{name: "combined", shape: dedup.ShapeCombined, mixed: 2, want: []row{
			{values: []int64{10, 20, 30}, timestamps: []uint64{101, 102, 103}},
			{timestamps: []uint64{104, 105, 106}},
			{values: []int64{12}},
		}},
		{name: "per event", shape: dedup.ShapePerEvent, mixed: 2, want: []row{
			{values: []int64{10}, timestamps: []uint64{101}},
			{values: []int64{20}, timestamps: []uint64{102}},
			{values: []int64{30}, timestamps: []uint64{103}},
			{timestamps: []uint64{104}},
			{timestamps: []uint64{105}},
			{timestamps: []uint64{106}},
			{values: []int64{12}},
		}},
		{name: "total", shape: dedup.ShapeTotal, want: []row{{values: []int64{10 + 20 + 30 + 3 + 12}}}},
		{name: "total with period", shape: dedup.ShapeTotal, period: 1000, want: []row{
			{values: []int64{10 + 20 + 30 + 3 + 12}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pd := message()
			if tt.period > 0 {
				profile := onlyProfile(pd)
				profile.SampleType().CopyTo(profile.PeriodType())
				profile.SetPeriod(tt.period)
			}
			after, stats, err := dedup.New(dedup.Options{Shape: tt.shape}).Deduplicate(pd)
			require.NoError(t, err)
			assert.Equal(t, tt.want, rows(after))
			assert.Equal(t, tt.mixed, stats.MixedShapes)
			again, stats, err := dedup.New(dedup.Options{Shape: tt.shape}).Deduplicate(clone(after))
			require.NoError(t, err)
			assert.Equal(t, tt.want, rows(again))
			assert.False(t, stats.Changed)
		})
	}
}

func TestZeroSamplesGo(t *testing.T) {
	message := func() pprofile.Profiles {
		return samplesOf(func(sample func(int32) pprofile.Sample) {
			sample(1).Values().Append(0)
			sample(2).Values().Append(4)
			event := sample(2)
			event.Values().Append(0)
			event.TimestampsUnixNano().Append(150)
		})
	}
	kept, stats := deduplicate(t, message())
	assert.Len(t, rows(kept), 3)
	assert.Zero(t, stats.ZeroSamples)
	after, stats, err := dedup.New(dedup.Options{DropZeroSamples: true}).Deduplicate(message())
	require.NoError(t, err)
	assert.Equal(t, []row{
		{values: []int64{4}, attributes: 2},
		{values: []int64{0}, timestamps: []uint64{150}, attributes: 2},
	}, rows(after))
	assert.Equal(t, 1, stats.ZeroSamples)
	assert.Equal(t, 3, after.Dictionary().AttributeTable().Len(), "what only dropped samples have goes with them")
	requireCanonical(t, after)
}

// A fault of a sample does not matter if the sample is dropped.
func TestZeroSamplesAreNotExamined(t *testing.T) {
	pd := samplesOf(func(sample func(int32) pprofile.Sample) {
		sample(1).SetStackIndex(99)
		sample(2).Values().Append(4)
	})
	for _, onInvalid := range []dedup.OnInvalid{dedup.DropProfile, dedup.Reject} {
		after, stats, err := dedup.New(dedup.Options{DropZeroSamples: true, OnInvalid: onInvalid}).Deduplicate(clone(pd))
		require.NoError(t, err)
		assert.Equal(t, []row{{values: []int64{4}, attributes: 2}}, rows(after))
		assert.Zero(t, stats.Invalid)
		requireCanonical(t, after)
	}
}

func TestDroppedAttributesLetSamplesMeet(t *testing.T) {
	pd := samplesOf(func(sample func(int32) pprofile.Sample) {
		sample(1).Values().Append(1)
		sample(2).Values().Append(2)
		sample(0).Values().Append(4)
	})
	after, stats, err := dedup.New(dedup.Options{DropAttributes: []string{"thread.id"}}).Deduplicate(pd)
	require.NoError(t, err)
	assert.Equal(t, []row{{values: []int64{3}, attributes: 1}, {values: []int64{4}}}, rows(after))
	assert.Equal(t, 2, stats.DroppedAttributes)
	assert.Equal(t, 2, after.Dictionary().AttributeTable().Len(), "the dropped ones leave the table")
	assert.NotContains(t, after.Dictionary().StringTable().AsRaw(), "thread.id")
	requireCanonical(t, after)
}

func TestShapesKeepTotals(t *testing.T) {
	for _, shape := range []dedup.Shape{dedup.ShapePerEvent, dedup.ShapeTotal} {
		rapid.Check(t, func(t *rapid.T) {
			pd := gen.Profiles().Draw(t, "message")
			before := clone(pd)
			after, _, err := dedup.New(dedup.Options{Shape: shape}).Deduplicate(pd)
			require.NoError(t, err)
			require.Empty(t, profiletest.Diff(before, after, profiletest.IgnoreSampleShape()))
		})
	}
}

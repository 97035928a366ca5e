// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"slices"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// newPprof returns a pprof that fills every field: three samples, the last without locations.
func newPprof() *profile.Profile {
	mappings := []*profile.Mapping{
		{ID: 1, Start: 0x400000, Limit: 0x500000, File: "/bin/app", BuildID: "abc", HasFunctions: true},
		{ID: 2, Start: 0x600000, Limit: 0x700000, Offset: 16, File: "/lib/libc.so"},
	}
	functions := []*profile.Function{
		{ID: 1, Name: "main.main", SystemName: "main.main", Filename: "main.go", StartLine: 10},
		{ID: 2, Name: "main.work", SystemName: "_main.work", Filename: "work.go"},
	}
	locations := []*profile.Location{
		{ID: 1, Mapping: mappings[0], Address: 0x400010, Line: []profile.Line{{Function: functions[1], Line: 7, Column: 2}, {Function: functions[0], Line: 12}}},
		{ID: 2, Mapping: mappings[1], Address: 0x600010, Line: []profile.Line{{Function: functions[0], Line: 13}}},
		{ID: 3, Address: 0x1},
	}
	return &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		DefaultSampleType: "cpu",
		Sample: []*profile.Sample{
			{
				Location: []*profile.Location{locations[0], locations[1]}, Value: []int64{1, 10},
				Label:    map[string][]string{"thread": {"a", "b"}},
				NumLabel: map[string][]int64{"bytes": {1, 2}}, NumUnit: map[string][]string{"bytes": {"", "kilobytes"}},
			},
			{Location: []*profile.Location{locations[1]}, Value: []int64{0, 0}},
			{Value: []int64{3, 30}},
		},
		Mapping: mappings, Location: locations, Function: functions,
		Comments: []string{"one", "two"}, DocURL: "http://doc", DropFrames: "drop", KeepFrames: "keep",
		TimeNanos: 1000, DurationNanos: 100, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10,
	}
}

func TestDiffPprofFindsNothingInTheSame(t *testing.T) {
	require.NoError(t, newPprof().CheckValid())
	require.Empty(t, DiffPprof(newPprof(), newPprof()))
	require.Empty(t, DiffPprof(newPprof(), newPprof().Copy()))
}

// TestDiffPprofFindsEachChange changes one thing that a round trip must keep.
func TestDiffPprofFindsEachChange(t *testing.T) {
	tests := []struct {
		name   string
		change func(*profile.Profile)
		want   string
	}{
		{"sample type", func(p *profile.Profile) { p.SampleType[0].Type = "x" }, "sample type 0: - {Type:samples Unit:count} + {Type:x"},
		{"sample type unit", func(p *profile.Profile) { p.SampleType[0].Unit = "x" }, "sample type 0"},
		{"sample types swapped", func(p *profile.Profile) { slices.Reverse(p.SampleType) }, "sample type 1"},
		{"default", func(p *profile.Profile) { p.DefaultSampleType = "" }, `default sample type: - "cpu" + ""`},
		{"period type", func(p *profile.Profile) { p.PeriodType = nil }, "period type 0: - {Type:cpu"},
		{"period", func(p *profile.Profile) { p.Period = 0 }, "period: - 10 + 0"},
		{"time", func(p *profile.Profile) { p.TimeNanos++ }, "time: - 1000 + 1001"},
		{"duration", func(p *profile.Profile) { p.DurationNanos++ }, "duration: - 100 + 101"},
		{"drop", func(p *profile.Profile) { p.DropFrames = "" }, "drop frames"},
		{"keep", func(p *profile.Profile) { p.KeepFrames = "" }, "keep frames"},
		{"doc", func(p *profile.Profile) { p.DocURL = "" }, "doc url"},
		{"comments", func(p *profile.Profile) { slices.Reverse(p.Comments) }, `comment 0: - "one" + "two"`},
		{"a comment less", func(p *profile.Profile) { p.Comments = p.Comments[:1] }, `- comment 1: "two"`},
		{"a comment more", func(p *profile.Profile) { p.Comments = append(p.Comments, "three") }, `+ comment 2: "three"`},
		{"value", func(p *profile.Profile) { p.Sample[0].Value[1] = 11 }, "- [1 10] + [1 11]"},
		{"no locations", func(p *profile.Profile) { p.Sample[0].Location = nil }, "+ sample []"},
		{"sample of zeros", func(p *profile.Profile) { p.Sample = slices.Delete(p.Sample, 1, 2) }, "- sample [0x600010"},
		{"locations swapped", func(p *profile.Profile) { slices.Reverse(p.Sample[0].Location) }, "+ sample [0x600010"},
		{"label", func(p *profile.Profile) { p.Sample[0].Label["thread"][1] = "c" }, `map[thread:[a c]]`},
		{"label order", func(p *profile.Profile) { slices.Reverse(p.Sample[0].Label["thread"]) }, `map[thread:[b a]]`},
		{"label key", func(p *profile.Profile) { p.Sample[1].Label = map[string][]string{"k": {"v"}} }, `map[k:[v]]`},
		{"number", func(p *profile.Profile) { p.Sample[0].NumLabel["bytes"][0] = 9 }, "map[bytes:[9 2]]"},
		{"unit", func(p *profile.Profile) { p.Sample[0].NumUnit["bytes"][1] = "" }, "map[bytes:[ ]]"},
		{"no units", func(p *profile.Profile) { p.Sample[0].NumUnit = nil }, "map[bytes:[1 2]] map[]"},
		{"address", func(p *profile.Profile) { p.Location[0].Address++ }, "0x400011"},
		{"folded", func(p *profile.Profile) { p.Location[0].IsFolded = true }, " folded"},
		{"no mapping", func(p *profile.Profile) { p.Location[1].Mapping = nil }, "- mapping 1: "},
		{"mapping order", func(p *profile.Profile) { slices.Reverse(p.Mapping) }, "mapping 0"},
		{"mapping start", func(p *profile.Profile) { p.Mapping[0].Start++ }, "mapping 0"},
		{"mapping limit", func(p *profile.Profile) { p.Mapping[0].Limit++ }, "mapping 0"},
		{"mapping offset", func(p *profile.Profile) { p.Mapping[0].Offset++ }, "mapping 0"},
		{"mapping file", func(p *profile.Profile) { p.Mapping[0].File = "" }, "mapping 0"},
		{"build id", func(p *profile.Profile) { p.Mapping[0].BuildID = "" }, "mapping 0"},
		{"has functions", func(p *profile.Profile) { p.Mapping[0].HasFunctions = false }, "mapping 0"},
		{"has file names", func(p *profile.Profile) { p.Mapping[0].HasFilenames = true }, "mapping 0"},
		{"has line numbers", func(p *profile.Profile) { p.Mapping[0].HasLineNumbers = true }, "mapping 0"},
		{"has inline frames", func(p *profile.Profile) { p.Mapping[0].HasInlineFrames = true }, "mapping 0"},
		{"inline order", func(p *profile.Profile) { slices.Reverse(p.Location[0].Line) }, "+ sample"},
		{"line", func(p *profile.Profile) { p.Location[0].Line[0].Line++ }, "work.go:8:2"},
		{"column", func(p *profile.Profile) { p.Location[0].Line[0].Column++ }, "work.go:7:3"},
		{"name", func(p *profile.Profile) { p.Function[1].Name = "x" }, `"x"("_main.work")`},
		{"system name", func(p *profile.Profile) { p.Function[1].SystemName = "x" }, `"main.work"("x")`},
		{"file name", func(p *profile.Profile) { p.Function[1].Filename = "x" }, "x:7:2"},
		{"start line", func(p *profile.Profile) { p.Function[0].StartLine++ }, "from 11"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			changed := newPprof()
			test.change(changed)
			require.Contains(t, DiffPprof(newPprof(), changed), test.want)
			require.NotEmpty(t, DiffPprof(changed, newPprof()), "the other way around")
		})
	}
}

// TestDiffPprofPassesOver changes what has no meaning, or what OTLP cannot hold.
func TestDiffPprofPassesOver(t *testing.T) {
	tests := []struct {
		name   string
		change func(*profile.Profile)
	}{
		{"ids", func(p *profile.Profile) { p.Location[0].ID, p.Function[0].ID, p.Mapping[0].ID = 77, 78, 79 }},
		{"order of samples", func(p *profile.Profile) { slices.Reverse(p.Sample) }},
		{"order of locations", func(p *profile.Profile) { slices.Reverse(p.Location) }},
		{"order of functions", func(p *profile.Profile) { slices.Reverse(p.Function) }},
		{"equal samples", func(p *profile.Profile) {
			half := *p.Sample[0]
			half.Value = []int64{3, 4}
			p.Sample[0].Value = []int64{-2, 6}
			p.Sample = append(p.Sample, &half)
		}},
		{"a location twice", func(p *profile.Profile) {
			twin := *p.Location[1]
			twin.ID = 9
			p.Location = append(p.Location, &twin)
			p.Sample[1].Location[0] = &twin
		}},
		{"a mapping twice", func(p *profile.Profile) {
			twin := *p.Mapping[0]
			twin.ID = 9
			p.Mapping = append(p.Mapping, &twin)
			p.Location = append(p.Location, &profile.Location{ID: 9, Mapping: &twin, Address: p.Location[0].Address, Line: p.Location[0].Line})
			half := *p.Sample[0]
			half.Value = []int64{0, 4}
			half.Location = []*profile.Location{p.Location[3], p.Location[1]}
			p.Sample[0].Value = []int64{1, 6}
			p.Sample = append(p.Sample, &half)
		}},
		{"orphans", func(p *profile.Profile) {
			p.Function = append(p.Function, &profile.Function{ID: 9, Name: "orphan"})
			p.Mapping = append(p.Mapping, &profile.Mapping{ID: 9, File: "orphan"})
			p.Location = append(p.Location, &profile.Location{ID: 9, Address: 9})
		}},
		{"units without text", func(p *profile.Profile) {
			p.Sample[1].NumLabel = map[string][]int64{"none": {}}
			p.Sample[1].Label = map[string][]string{"none": nil}
		}},
		{"a mapping without content", func(p *profile.Profile) {
			empty := &profile.Mapping{ID: 9}
			p.Mapping = append(p.Mapping, empty)
			p.Location[2].Mapping = empty
			p.Sample[2].Location = []*profile.Location{p.Location[2]}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			changed, want := newPprof(), newPprof()
			if test.name == "a mapping without content" {
				want.Sample[2].Location = []*profile.Location{want.Location[2]}
			}
			test.change(changed)
			require.NoError(t, changed.CheckValid())
			require.Empty(t, DiffPprof(want, changed))
		})
	}
}

func TestDiffPprofTakesATypeThatSaysNothingForNone(t *testing.T) {
	unnamed := &profile.Profile{SampleType: []*profile.ValueType{{}}}
	require.Empty(t, DiffPprof(&profile.Profile{}, unnamed))
	require.NotEmpty(t, DiffPprof(&profile.Profile{}, &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu"}}}))
	unnamed.Sample = []*profile.Sample{{Value: []int64{1}}}
	require.NotEmpty(t, DiffPprof(&profile.Profile{}, unnamed))
}

func TestDiffPprofReadsTextAsUTF8(t *testing.T) {
	faulty, mended := newPprof(), newPprof()
	faulty.Function[0].Name, mended.Function[0].Name = "a\xff\xfeb", "a\uFFFDb"
	faulty.Sample[0].Label["thread"][0], mended.Sample[0].Label["thread"][0] = "\xc3", "\uFFFD"
	faulty.Mapping[0].File, mended.Mapping[0].File = "\x80", "\uFFFD"
	faulty.Comments[0], mended.Comments[0] = "\x80", "\uFFFD"
	require.Empty(t, DiffPprof(faulty, mended))

	faulty.TimeNanos, mended.TimeNanos = -5, 0
	faulty.DurationNanos, mended.DurationNanos = -5, 0
	require.Empty(t, DiffPprof(faulty, mended))
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"math"

	"github.com/google/pprof/profile"
	"pgregory.net/rapid"
)

// Pprof generates arbitrary pprofs that satisfy CheckValid: any ids, orphans, equal entries under several ids, labels
// of every kind, and values at the ends of their range.
func Pprof() *rapid.Generator[*profile.Profile] { return rapid.Custom(drawPprof) }

func drawPprof(t *rapid.T) *profile.Profile {
	p := &profile.Profile{
		TimeNanos:     rapid.OneOf(rapid.Just(int64(0)), rapid.Int64()).Draw(t, "time"),
		DurationNanos: rapid.OneOf(rapid.Just(int64(0)), rapid.Int64()).Draw(t, "duration"),
		Period:        number().Draw(t, "period"),
		Comments:      rapid.SliceOfN(wireText(), 0, 3).Draw(t, "comments"),
		DropFrames:    wireText().Draw(t, "drop frames"),
		KeepFrames:    wireText().Draw(t, "keep frames"),
		DocURL:        wireText().Draw(t, "doc url"),
	}
	if rapid.Bool().Draw(t, "has period type") {
		p.PeriodType = valueType().Draw(t, "period type")
	}
	p.SampleType = rapid.SliceOfN(valueType(), 1, 4).Draw(t, "sample types")
	p.DefaultSampleType = wireText().Draw(t, "default sample type")
	if rapid.Bool().Draw(t, "default is one of them") {
		p.DefaultSampleType = rapid.SampledFrom(p.SampleType).Draw(t, "default").Type
	}

	drawTables(t, p)
	for range rapid.IntRange(0, 8).Draw(t, "samples") {
		p.Sample = append(p.Sample, drawSample(t, p))
	}
	return p
}

func drawTables(t *rapid.T, p *profile.Profile) {
	for _, id := range drawIDs(t, "mapping ids", 4) {
		p.Mapping = append(p.Mapping, &profile.Mapping{
			ID: id, Start: address().Draw(t, "start"), Limit: address().Draw(t, "limit"), Offset: address().Draw(t, "offset"),
			File: wireText().Draw(t, "mapping file"), BuildID: wireText().Draw(t, "build id"),
			HasFunctions: rapid.Bool().Draw(t, "functions"), HasFilenames: rapid.Bool().Draw(t, "filenames"),
			HasLineNumbers: rapid.Bool().Draw(t, "lines"), HasInlineFrames: rapid.Bool().Draw(t, "inline"),
		})
	}
	for _, id := range drawIDs(t, "function ids", 5) {
		p.Function = append(p.Function, &profile.Function{
			ID: id, Name: wireText().Draw(t, "name"), SystemName: wireText().Draw(t, "system name"),
			Filename: wireText().Draw(t, "file name"), StartLine: number().Draw(t, "start line"),
		})
	}
	for _, id := range drawIDs(t, "location ids", 6) {
		l := &profile.Location{ID: id, Address: address().Draw(t, "address"), IsFolded: rapid.Bool().Draw(t, "folded")}
		if len(p.Mapping) > 0 && rapid.Bool().Draw(t, "has mapping") {
			l.Mapping = rapid.SampledFrom(p.Mapping).Draw(t, "mapping")
		}
		if len(p.Function) > 0 {
			for range rapid.IntRange(0, 3).Draw(t, "lines") {
				l.Line = append(l.Line, profile.Line{
					Function: rapid.SampledFrom(p.Function).Draw(t, "function"),
					Line:     number().Draw(t, "line"), Column: number().Draw(t, "column"),
				})
			}
		}
		p.Location = append(p.Location, l)
	}
}

// drawIDs returns different ids, none of them zero, in any order and with gaps.
func drawIDs(t *rapid.T, label string, most int) []uint64 {
	return rapid.SliceOfNDistinct(
		rapid.OneOf(rapid.Uint64Range(1, 8), rapid.Uint64Min(1)), 0, most, rapid.ID[uint64],
	).Draw(t, label)
}

func drawSample(t *rapid.T, p *profile.Profile) *profile.Sample {
	s := &profile.Sample{Value: rapid.SliceOfN(number(), len(p.SampleType), len(p.SampleType)).Draw(t, "values")}
	if len(p.Location) > 0 {
		s.Location = rapid.SliceOfN(rapid.SampledFrom(p.Location), 0, 5).Draw(t, "locations")
	}
	s.Label = rapid.MapOfN(labelKey(), rapid.SliceOfN(rapid.OneOf(labelText(), wireText()), 1, 3), 0, 3).Draw(t, "labels")
	s.NumLabel = rapid.MapOfN(labelKey(), rapid.SliceOfN(number(), 1, 3), 0, 3).Draw(t, "numbers")
	s.NumUnit = map[string][]string{}
	for key, numbers := range s.NumLabel {
		if rapid.Bool().Draw(t, "has units") {
			s.NumUnit[key] = rapid.SliceOfN(wireText(), len(numbers), len(numbers)).Draw(t, "units")
		}
	}
	return s
}

// text is often one of a few, so that values come up again.
func text() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "cpu", "count", "nanoseconds", "main.main", "main.go", "/bin/app", "é", "é"}),
		rapid.StringN(0, 6, 12),
	)
}

// wireText is text that need not be UTF-8.
func wireText() *rapid.Generator[string] { return rapid.OneOf(text(), rapid.Just("a\xff\xfe")) }

func valueType() *rapid.Generator[*profile.ValueType] {
	return rapid.Custom(func(t *rapid.T) *profile.ValueType {
		return &profile.ValueType{Type: wireText().Draw(t, "type"), Unit: wireText().Draw(t, "unit")}
	})
}

func number() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.SampledFrom([]int64{0, 1, 2, math.MinInt64, math.MaxInt64, -1}), rapid.Int64())
}

func address() *rapid.Generator[uint64] {
	return rapid.OneOf(rapid.SampledFrom([]uint64{0, 1, 0x401000, math.MaxUint64}), rapid.Uint64())
}

// labelKey is often one that names a trace or a span.
func labelKey() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"trace_id", "span_id", "trace id", "span id", "otel.traceid", "thread", "bytes", "timestamp"}),
		text(),
	)
}

// labelText is often a way to write an id of a trace or a span.
func labelText() *rapid.Generator[string] {
	return rapid.OneOf(
		text(),
		rapid.SampledFrom([]string{
			"0", "00000000000000000000000000000000", "0000000000000000", "0x1", "1", "A", "18446744073709551615", "18446744073709551616",
		}),
		rapid.StringMatching(`[0-9a-f]{32}|[0-9a-f]{16}|(0x)?[0-9a-fA-F]{1,33}|[0-9]{1,20}`),
	)
}

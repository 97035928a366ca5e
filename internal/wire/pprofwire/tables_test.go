// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"math"

	"pgregory.net/rapid"
)

// drawTables draws tables of any content with valid string indices. Location ids have at most 32 bits, as in the profiles
// that we write.
func drawTables(t *rapid.T) content {
	c := content{Strings: rapid.SliceOfN(rapid.String(), 1, 400).Draw(t, "strings")}
	text := rapid.Uint32Max(uint32(len(c.Strings) - 1))
	id, ownID := rapid.Uint64(), rapid.Uint64Min(1)
	number := rapid.OneOf(rapid.SampledFrom([]int64{0, 1, 127, 128, math.MinInt64, math.MaxInt64, -1}), rapid.Int64())
	flag := rapid.Bool()
	valueType := rapid.Custom(func(t *rapid.T) ValueType {
		return ValueType{Type: text.Draw(t, "type"), Unit: text.Draw(t, "unit")}
	})
	c.SampleTypes = listOf(valueType, 3).Draw(t, "sample types")
	c.Mappings = listOf(rapid.Custom(func(t *rapid.T) Mapping {
		return Mapping{
			ID: ownID.Draw(t, "id"), Start: id.Draw(t, "start"), Limit: id.Draw(t, "limit"), Offset: id.Draw(t, "offset"),
			Filename: text.Draw(t, "file"), BuildID: text.Draw(t, "build id"),
			HasFunctions: flag.Draw(t, "functions"), HasFilenames: flag.Draw(t, "filenames"),
			HasLineNumbers: flag.Draw(t, "line numbers"), HasInlineFrames: flag.Draw(t, "inline frames"),
		}
	}), 3).Draw(t, "mappings")
	c.Functions = listOf(rapid.Custom(func(t *rapid.T) Function {
		return Function{
			ID: ownID.Draw(t, "id"), Name: text.Draw(t, "name"), SystemName: text.Draw(t, "system name"),
			Filename: text.Draw(t, "file"), StartLine: number.Draw(t, "start line"),
		}
	}), 3).Draw(t, "functions")
	for range rapid.IntRange(0, 3).Draw(t, "locations") {
		c.Lines = append(c.Lines, listOf(rapid.Custom(func(t *rapid.T) Line {
			return Line{FunctionID: id.Draw(t, "function"), Line: number.Draw(t, "line"), Column: number.Draw(t, "column")}
		}), 40).Draw(t, "lines")...)
		c.Locations = append(c.Locations, Location{
			ID: ownID.Draw(t, "id"), MappingID: id.Draw(t, "mapping"), Address: id.Draw(t, "address"),
			LinesEnd: uint32(len(c.Lines)), IsFolded: flag.Draw(t, "folded"),
		})
	}
	for range rapid.IntRange(0, 4).Draw(t, "samples") {
		c.LocationIDs = append(c.LocationIDs, listOf(rapid.Uint64Max(math.MaxUint32), 200).Draw(t, "stack")...)
		c.Values = append(c.Values, listOf(number, 40).Draw(t, "values")...)
		c.Labels = append(c.Labels, listOf(rapid.Custom(func(t *rapid.T) Label {
			return Label{
				Key: text.Draw(t, "key"), Str: text.Draw(t, "str"), Num: number.Draw(t, "num"), NumUnit: text.Draw(t, "unit"),
			}
		}), 30).Draw(t, "labels")...)
		c.Samples = append(c.Samples, Sample{uint32(len(c.LocationIDs)), uint32(len(c.Values)), uint32(len(c.Labels))})
	}
	c.HasPeriodType = flag.Draw(t, "has period type")
	if c.HasPeriodType {
		c.PeriodType = valueType.Draw(t, "period type")
	}
	c.Comments = listOf(text, 60).Draw(t, "comments")
	c.DropFrames, c.KeepFrames = text.Draw(t, "drop frames"), text.Draw(t, "keep frames")
	c.TimeNanos, c.DurationNanos, c.Period = number.Draw(t, "time"), number.Draw(t, "duration"), number.Draw(t, "period")
	c.DefaultSampleType, c.DocURL = text.Draw(t, "default sample type"), text.Draw(t, "doc url")
	return c
}

// listOf draws up to most elements. An empty list is nil, as in tables that were read.
func listOf[T any](element *rapid.Generator[T], most int) *rapid.Generator[[]T] {
	return rapid.Map(rapid.SliceOfN(element, 0, most), func(list []T) []T { return append([]T(nil), list...) })
}

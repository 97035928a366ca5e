// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// anySize has limits that no payload in these tests exceeds.
var anySize = NoLimits()

// proto is a protobuf message. It is written with protowire, so that the tests do not depend on the code under test.
type proto []byte

func (m proto) number(field protowire.Number, v uint64) proto {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

func (m proto) numbers(field protowire.Number, values ...uint64) proto {
	for _, v := range values {
		m = m.number(field, v)
	}
	return m
}

func (m proto) packed(field protowire.Number, values ...uint64) proto {
	var content []byte
	for _, v := range values {
		content = protowire.AppendVarint(content, v)
	}
	return m.message(field, content)
}

func (m proto) message(field protowire.Number, content proto) proto {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), content)
}

func (m proto) strings(table ...string) proto {
	for _, s := range table {
		m = m.message(6, proto(s))
	}
	return m
}

func (m proto) fixed64(field protowire.Number) proto {
	return protowire.AppendFixed64(protowire.AppendTag(m, field, protowire.Fixed64Type), math.MaxUint64)
}

func (m proto) fixed32(field protowire.Number) proto {
	return protowire.AppendFixed32(protowire.AppendTag(m, field, protowire.Fixed32Type), math.MaxUint32)
}

func (m proto) raw(b ...byte) proto { return append(m, b...) }

// with returns a copy of m with other appended.
func (m proto) with(other proto) proto { return append(append(proto{}, m...), other...) }

// content is the content of the tables, without the state of the reader.
type content struct {
	Profile
	Strings []string
}

// read reads raw with a new reader.
func read(t require.TestingT, raw []byte) content {
	var p Profile
	require.NoError(t, p.Read(raw, anySize))
	return contentOf(&p)
}

// contentOf copies the tables; empty ones are nil.
func contentOf(p *Profile) content {
	c := content{Profile: *p}
	for i := range p.NumStrings() {
		c.Strings = append(c.Strings, string(p.String(uint32(i))))
	}
	c.raw, c.strings, c.Repeats, c.repeats, c.finder = nil, nil, nil, nil, nil
	c.total, c.counted, c.stringBytes = counts{}, false, 0
	c.SampleTypes, c.Samples = copied(p.SampleTypes), copied(p.Samples)
	c.LocationIDs, c.Values, c.Labels = copied(p.LocationIDs), copied(p.Values), copied(p.Labels)
	c.Mappings, c.Functions, c.Comments = copied(p.Mappings), copied(p.Functions), copied(p.Comments)
	c.Locations, c.Lines = copied(p.Locations), copied(p.Lines)
	return c
}

func copied[T any](s []T) []T { return append([]T(nil), s...) }

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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// The sizes of parts of a message in protobuf, as pdata writes them. pdata tells them for whole profiles only.

// varintSize returns the size of a number.
func varintSize(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// fieldSize returns the size of a field that holds so many bytes, with its tag and length.
func fieldSize(bytes int) int { return 1 + varintSize(uint64(bytes)) + bytes }

// numberSize returns the size of a field with a number, which is not written if it is 0.
func numberSize(v uint64) int {
	if v == 0 {
		return 0
	}
	return 1 + varintSize(v)
}

func indexSize(i int32) int { return numberSize(uint64(i)) }

func indicesSize(list pcommon.Int32Slice) int {
	n := list.Len()
	if n == 0 {
		return 0
	}
	bytes := 0
	for j := range n {
		bytes += varintSize(uint64(list.At(j)))
	}
	return fieldSize(bytes)
}

func functionSize(f pprofile.Function) int {
	return indexSize(f.NameStrindex()) + indexSize(f.SystemNameStrindex()) + indexSize(f.FilenameStrindex()) +
		numberSize(uint64(f.StartLine()))
}

func mappingSize(m pprofile.Mapping) int {
	return numberSize(m.MemoryStart()) + numberSize(m.MemoryLimit()) + numberSize(m.FileOffset()) +
		indexSize(m.FilenameStrindex()) + indicesSize(m.AttributeIndices())
}

func locationSize(l pprofile.Location) int {
	bytes := indexSize(l.MappingIndex()) + numberSize(l.Address()) + indicesSize(l.AttributeIndices())
	lines := l.Lines()
	for j := range lines.Len() {
		line := lines.At(j)
		bytes += fieldSize(indexSize(line.FunctionIndex()) + numberSize(uint64(line.Line())) + numberSize(uint64(line.Column())))
	}
	return bytes
}

func linkSize(l pprofile.Link) int {
	trace, span := 0, 0
	if !l.TraceID().IsEmpty() {
		trace = len(l.TraceID())
	}
	if !l.SpanID().IsEmpty() {
		span = len(l.SpanID())
	}
	return fieldSize(trace) + fieldSize(span)
}

func attributeSize(a pprofile.KeyValueAndUnit) int {
	return indexSize(a.KeyStrindex()) + indexSize(a.UnitStrindex()) + fieldSize(valueSize(a.Value(), attributevalue.MaxDepth))
}

// valueSize leaves out what is nested deeper than so many levels: such a value is invalid.
func valueSize(v pcommon.Value, levels int) int {
	if levels < 0 {
		return 0
	}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return fieldSize(len(v.Str()))
	case pcommon.ValueTypeBool:
		return 2
	case pcommon.ValueTypeInt:
		return 1 + varintSize(uint64(v.Int()))
	case pcommon.ValueTypeDouble:
		return 9
	case pcommon.ValueTypeBytes:
		return fieldSize(v.Bytes().Len())
	case pcommon.ValueTypeSlice:
		bytes := 0
		for _, item := range v.Slice().All() {
			bytes += fieldSize(valueSize(item, levels-1))
		}
		return fieldSize(bytes)
	case pcommon.ValueTypeMap:
		bytes := 0
		for key, item := range v.Map().All() {
			pair := fieldSize(valueSize(item, levels-1))
			if key != "" {
				pair += fieldSize(len(key))
			}
			bytes += fieldSize(pair)
		}
		return fieldSize(bytes)
	case pcommon.ValueTypeEmpty:
	}
	return 0
}

func sampleSize(s pprofile.Sample) int {
	bytes := indexSize(s.StackIndex()) + indexSize(s.LinkIndex()) + indicesSize(s.AttributeIndices())
	if values := s.Values(); values.Len() > 0 {
		packed := 0
		for j := range values.Len() {
			packed += varintSize(uint64(values.At(j)))
		}
		bytes += fieldSize(packed)
	}
	if timestamps := s.TimestampsUnixNano().Len(); timestamps > 0 {
		bytes += fieldSize(8 * timestamps)
	}
	return bytes
}

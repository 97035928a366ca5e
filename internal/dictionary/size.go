// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/protobuf/encoding/protowire"
)

// The sizes of parts of a message in protobuf, as pdata writes them. pdata only has the sizes of a whole message and of what is in its resources.

// EntryBytes returns the size of an entry of a table, without its tag and length.
func EntryBytes(d pprofile.ProfilesDictionary, t Table, i int) int {
	switch t {
	case Strings:
		return len(d.StringTable().At(i))
	case Functions:
		f := d.FunctionTable().At(i)
		return refBytes(f.NameStrindex()) + refBytes(f.SystemNameStrindex()) + refBytes(f.FilenameStrindex()) +
			numberBytes(uint64(f.StartLine()))
	case Mappings:
		m := d.MappingTable().At(i)
		return numberBytes(m.MemoryStart()) + numberBytes(m.MemoryLimit()) + numberBytes(m.FileOffset()) +
			refBytes(m.FilenameStrindex()) + indicesBytes(m.AttributeIndices())
	case Locations:
		l := d.LocationTable().At(i)
		bytes := refBytes(l.MappingIndex()) + numberBytes(l.Address()) + indicesBytes(l.AttributeIndices())
		for j := range l.Lines().Len() {
			line := l.Lines().At(j)
			bytes += FieldBytes(refBytes(line.FunctionIndex()) + numberBytes(uint64(line.Line())) + numberBytes(uint64(line.Column())))
		}
		return bytes
	case Stacks:
		return indicesBytes(d.StackTable().At(i).LocationIndices())
	case Attributes:
		a := d.AttributeTable().At(i)
		return refBytes(a.KeyStrindex()) + refBytes(a.UnitStrindex()) + FieldBytes(sizeOfValue(a.Value()).protobuf)
	case Links:
		trace, span := 0, 0
		if id := d.LinkTable().At(i).TraceID(); !id.IsEmpty() {
			trace = len(id)
		}
		if id := d.LinkTable().At(i).SpanID(); !id.IsEmpty() {
			span = len(id)
		}
		return FieldBytes(trace) + FieldBytes(span)
	case NumTables:
	}
	return 0
}

// Bytes estimates the size of a dictionary, without its tag and length.
func Bytes(d pprofile.ProfilesDictionary) (bytes int) {
	for t, n := range LengthsOf(d) {
		for i := range n {
			bytes += FieldBytes(EntryBytes(d, Table(t), i))
		}
	}
	return bytes
}

// FieldBytes returns the size of a field with this number of bytes, including its tag and length.
func FieldBytes(bytes int) int { return 1 + protowire.SizeBytes(bytes) }

// numberBytes returns the size of a field with a number, which is not written if it is 0.
func numberBytes(v uint64) int {
	if v == 0 {
		return 0
	}
	return 1 + protowire.SizeVarint(v)
}

func refBytes(i int32) int { return numberBytes(uint64(i)) }

func indicesBytes(list pcommon.Int32Slice) int {
	n := list.Len()
	if n == 0 {
		return 0
	}
	bytes := 0
	for j := range n {
		bytes += protowire.SizeVarint(uint64(list.At(j)))
	}
	return FieldBytes(bytes)
}

// SampleBytes returns the size of a sample, without its tag and length.
func SampleBytes(s pprofile.Sample) int {
	bytes := refBytes(s.StackIndex()) + refBytes(s.LinkIndex()) + indicesBytes(s.AttributeIndices())
	if values := s.Values(); values.Len() > 0 {
		packed := 0
		for j := range values.Len() {
			packed += protowire.SizeVarint(uint64(values.At(j)))
		}
		bytes += FieldBytes(packed)
	}
	if timestamps := s.TimestampsUnixNano().Len(); timestamps > 0 {
		bytes += FieldBytes(8 * timestamps)
	}
	return bytes
}

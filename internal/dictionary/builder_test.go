// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// requireSame compares every entry of a Builder with the oracle's.
func requireSame(t require.TestingT, want *tables, b *Builder) {
	require.Equal(t, Lengths{
		Strings: len(want.strings.entries), Functions: len(want.functions.entries), Mappings: len(want.mappings.entries),
		Locations: len(want.locations.entries), Stacks: len(want.stacks.entries), Attributes: len(want.attributes.entries),
		Links: len(want.links.entries),
	}, b.Len())
	for i, s := range want.strings.entries {
		require.Equal(t, s, b.StringAt(int32(i)))
	}
	for i, f := range want.functions.entries {
		require.Equal(t, f, b.functions[i])
	}
	for i, want := range want.mappings.entries {
		mapping, attributes := b.mappings[i], b.mappingAttributes.at(i)
		require.Equal(t, want, mappingValue{mapping, append([]int32(nil), attributes...)})
	}
	for i, want := range want.locations.entries {
		location, attributes := b.locations[i], b.locationAttributes.at(i)
		lines := append([]Line(nil), b.linesAt(int32(i))...)
		require.Equal(t, want, locationValue{location, lines, append([]int32(nil), attributes...)})
	}
	for i, s := range want.stacks.entries {
		require.Equal(t, s, append([]int32(nil), b.stacks.At(int32(i))...))
	}
	for i, l := range want.links.entries {
		require.Equal(t, l, b.LinkAt(int32(i)))
	}
}

// requireWritten compares what a Builder wrote with the oracle.
func requireWritten(t require.TestingT, want *tables, d pprofile.ProfilesDictionary) {
	require.Equal(t, want.strings.entries, d.StringTable().AsRaw())
	require.Equal(t, len(want.functions.entries), d.FunctionTable().Len())
	for i, f := range want.functions.entries {
		got := d.FunctionTable().At(i)
		function := Function{got.NameStrindex(), got.SystemNameStrindex(), got.FilenameStrindex(), got.StartLine()}
		require.Equal(t, f, function)
	}
	require.Equal(t, len(want.mappings.entries), d.MappingTable().Len())
	for i, want := range want.mappings.entries {
		got := d.MappingTable().At(i)
		mapping := Mapping{got.MemoryStart(), got.MemoryLimit(), got.FileOffset(), got.FilenameStrindex()}
		require.Equal(t, want, mappingValue{mapping, rawList(got.AttributeIndices())})
	}
	require.Equal(t, len(want.locations.entries), d.LocationTable().Len())
	for i, want := range want.locations.entries {
		got := d.LocationTable().At(i)
		var lines []Line
		for _, line := range got.Lines().All() {
			lines = append(lines, Line{line.FunctionIndex(), line.Line(), line.Column()})
		}
		require.Equal(t, want, locationValue{Location{got.Address(), got.MappingIndex()}, lines, rawList(got.AttributeIndices())})
	}
	require.Equal(t, len(want.stacks.entries), d.StackTable().Len())
	for i, s := range want.stacks.entries {
		require.Equal(t, s, rawList(d.StackTable().At(i).LocationIndices()))
	}
	require.Equal(t, len(want.attributes.entries), d.AttributeTable().Len())
	for i, a := range want.attributes.entries {
		got := d.AttributeTable().At(i)
		require.Equal(t, [2]int32{a.Key, a.Unit}, [2]int32{got.KeyStrindex(), got.UnitStrindex()})
		require.True(t, sameRaw(a.Value, got.Value().AsRaw()), "%v, %v", a.Value, got.Value().AsRaw())
	}
	require.Equal(t, len(want.links.entries), d.LinkTable().Len())
	for i, l := range want.links.entries {
		got := d.LinkTable().At(i)
		link := Link{got.TraceID(), got.SpanID()}
		require.Equal(t, l, link)
	}
}

func rawList(s pcommon.Int32Slice) []int32 { return append([]int32(nil), s.AsRaw()...) }

// TestNewBuilderHoldsZeroEntries: entry 0 of each table is the zero value and present.
func TestNewBuilderHoldsZeroEntries(t *testing.T) {
	for name, b := range map[string]*Builder{"new": New(), "used and reset": used()} {
		t.Run(name, func(t *testing.T) {
			requireSame(t, newOracle(), b)
			assert.Equal(t, pcommon.ValueTypeEmpty, b.AttributeAt(0).Kind)
			d := pprofile.NewProfilesDictionary()
			b.WriteTo(d)
			requireWritten(t, newOracle(), d)

			for _, index := range []int32{
				b.String(""), b.StringBytes(nil), b.Function(Function{}), b.Mapping(Mapping{}, nil),
				b.Mapping(Mapping{}, []int32{}), b.Location(Location{}, nil, nil), b.Stack(nil), b.Stack([]int32{}),
				b.Link(Link{}), b.Attribute(0, 0, pcommon.NewValueEmpty()),
			} {
				assert.Zero(t, index, "the zero value is entry 0")
			}
			assert.Equal(t, int32(1), b.StringAttribute(0, ""), "an empty string is a value")
		})
	}
}

func used() *Builder {
	b := New()
	fillEach(b, 3)
	b.Reset(Lengths{Strings: 1000})
	return b
}

// fillEach adds n entries to every table.
func fillEach(b *Builder, n int) {
	for i := range int32(n) {
		i++
		b.String(strings.Repeat("x", int(i)))
		b.Function(Function{Name: i})
		b.Mapping(Mapping{Start: uint64(i)}, []int32{i})
		b.Location(Location{Address: uint64(i)}, []Line{{Function: i}}, []int32{i})
		b.Stack([]int32{i, i})
		b.Link(Link{SpanID: pcommon.SpanID{byte(i)}})
		b.StringAttribute(i, "text")
		b.IntAttribute(i, 0, 5)
		b.Attribute(i, 0, pcommon.NewValueSlice())
	}
}

// TestBorrowedBytes: new strings are copied, whatever their length, and returned strings do not change.
func TestBorrowedBytes(t *testing.T) {
	b := New()
	var want []string
	var indices []int32
	buffer := make([]byte, 2*chunkBytes)
	for i, n := range []int{1, 100, chunkBytes/4 - 1, chunkBytes / 4, chunkBytes/4 + 1, chunkBytes, 2 * chunkBytes, 5, 8000, 8000, 8001, 8002, 8003} {
		s := buffer[:n]
		for j := range s {
			s[j] = byte('a' + i)
		}
		want = append(want, string(s))
		indices = append(indices, b.StringBytes(s))
		assert.Equal(t, string(s), b.AttributeAt(b.StringBytesAttribute(1, s)).Text)
	}
	clear(buffer)
	for i, index := range indices {
		require.Equal(t, want[i], b.StringAt(index))
		require.Equal(t, index, b.String(want[i]))
	}
	kept := b.StringAt(indices[1])
	b.Reset(Lengths{})
	b.StringBytes([]byte(strings.Repeat("?", 100)))
	assert.Equal(t, want[1], kept, "a string stays valid after Reset")
}

// TestWrittenTablesAreTheirOwn: a written dictionary does not change when the Builder is used again.
func TestWrittenTablesAreTheirOwn(t *testing.T) {
	b := New()
	list := value(t, []any{"a", "b"})
	b.Attribute(1, 0, list)
	fillEach(b, 4)
	d := pprofile.NewProfilesDictionary()
	b.WriteTo(d)
	before := bytesOf(t, d)
	list.Slice().At(0).SetStr("changed")
	b.Reset(Lengths{})
	fillEach(b, 9)
	b.WriteTo(pprofile.NewProfilesDictionary())
	assert.Equal(t, before, bytesOf(t, d))
}

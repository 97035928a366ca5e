// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Function is an entry of the function table. The names are string indices.
type Function struct {
	Name, SystemName, Filename int32
	StartLine                  int64
}

// Mapping is an entry of the mapping table, without its attributes. Filename is a string index.
type Mapping struct {
	Start, Limit, Offset uint64
	Filename             int32
}

// Location is an entry of the location table, without its lines and attributes.
type Location struct {
	Address uint64
	Mapping int32
}

// Line is one line of a location.
type Line struct {
	Function     int32
	Line, Column int64
}

// Link is an entry of the link table.
type Link struct {
	TraceID pcommon.TraceID
	SpanID  pcommon.SpanID
}

// Function returns the index of f.
func (b *Builder) Function(f Function) int32 {
	h := f.hash()
	entry, slot := b.functionIndex.first(h)
	for ; entry >= 0; entry, slot = b.functionIndex.next(h, slot) {
		if b.functions[entry] == f {
			return entry
		}
	}
	b.functionIndex.insert(h, slot, len(b.functions))
	b.functions = append(b.functions, f)
	return int32(len(b.functions) - 1)
}

// Mapping returns the index of m with these attributes. attributes must be sorted. The Builder copies it.
func (b *Builder) Mapping(m Mapping, attributes []int32) int32 {
	h := m.hash(attributes)
	entry, slot := b.mappingIndex.first(h)
	for ; entry >= 0; entry, slot = b.mappingIndex.next(h, slot) {
		if b.mappings[entry] == m && slices.Equal(b.mappingAttributes.at(int(entry)), attributes) {
			return entry
		}
	}
	b.mappingIndex.insert(h, slot, len(b.mappings))
	b.mappings = append(b.mappings, m)
	b.mappingAttributes.add(attributes)
	return int32(len(b.mappings) - 1)
}

// Location returns the index of l with these lines, in this order, and attributes. attributes must be sorted. The Builder
// copies both.
func (b *Builder) Location(l Location, lines []Line, attributes []int32) int32 {
	h := l.hash(lines, attributes)
	entry, slot := b.locationIndex.first(h)
	for ; entry >= 0; entry, slot = b.locationIndex.next(h, slot) {
		if b.locations[entry] == l && slices.Equal(b.linesAt(entry), lines) &&
			slices.Equal(b.locationAttributes.at(int(entry)), attributes) {
			return entry
		}
	}
	b.locationIndex.insert(h, slot, len(b.locations))
	b.locations = append(b.locations, l)
	b.lines = append(b.lines, lines...)
	b.linesEnds = append(b.linesEnds, len(b.lines))
	b.locationAttributes.add(attributes)
	return int32(len(b.locations) - 1)
}

// Stack returns the index of the stack with these locations, leaf first. The Builder copies locations.
func (b *Builder) Stack(locations []int32) int32 { return b.stacks.Index(locations) }

// NextStack returns space for a stack of n locations, to be filled before [Builder.AddNextStack]. This avoids a copy.
func (b *Builder) NextStack(n int) []int32 { return b.stacks.next(n) }

// AddNextStack returns the index of the stack of n locations that was written to the space of [Builder.NextStack].
func (b *Builder) AddNextStack(n int) int32 { return b.stacks.addNext(n) }

// AddNextStacks appends to dst the indices of the stacks that were written, one after the other, to the space of [Builder.NextStack]. ends
// has the ends of at most [StacksPerBatch] stacks.
func (b *Builder) AddNextStacks(dst []int32, ends []int) []int32 { return b.stacks.addBatch(dst, ends) }

// Link returns the index of l.
func (b *Builder) Link(l Link) int32 {
	h := l.hash()
	entry, slot := b.linkIndex.first(h)
	for ; entry >= 0; entry, slot = b.linkIndex.next(h, slot) {
		if b.links[entry] == l {
			return entry
		}
	}
	b.linkIndex.insert(h, slot, len(b.links))
	b.links = append(b.links, l)
	return int32(len(b.links) - 1)
}

// chunkBytes is the maximum size of a chunk, which is one allocation for many new strings. The first chunk of a message
// has smallChunkBytes, and each next one twice as much, since most messages are small.
const (
	chunkBytes      = 32 << 10
	smallChunkBytes = 2 << 10
)

// String returns the index of s. The Builder keeps s.
func (b *Builder) String(s string) int32 {
	h := hashString(s)
	entry, slot := b.stringIndex.first(h)
	for ; entry >= 0; entry, slot = b.stringIndex.next(h, slot) {
		if b.strings[entry] == s {
			return entry
		}
	}
	return b.addString(h, slot, s)
}

// StringBytes returns the index of the string with these bytes. It copies them if the string is new.
func (b *Builder) StringBytes(s []byte) int32 {
	h := hashBytes(s)
	entry, slot := b.stringIndex.first(h)
	for ; entry >= 0; entry, slot = b.stringIndex.next(h, slot) {
		if b.strings[entry] == string(s) {
			return entry
		}
	}
	return b.addString(h, slot, b.keep(s))
}

func (b *Builder) addString(h, slot uint64, s string) int32 {
	b.stringIndex.insert(h, slot, len(b.strings))
	b.strings = append(b.strings, s)
	return int32(len(b.strings) - 1)
}

// keep copies s into the current chunk. A strings.Builder never changes the bytes of a string that it has returned.
func (b *Builder) keep(s []byte) string {
	b.keptBytes += int64(len(s))
	if len(s) > chunkBytes/4 {
		return string(s)
	}
	if b.chunk.Cap()-b.chunk.Len() < len(s) {
		size := min(max(smallChunkBytes, 2*b.chunk.Cap(), 4*len(s)), chunkBytes)
		b.chunk = &strings.Builder{}
		b.chunk.Grow(size)
	}
	start := b.chunk.Len()
	b.chunk.Write(s)
	return b.chunk.String()[start:]
}

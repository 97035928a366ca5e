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
	entry, added := b.functionIndex.add(f.hash(), len(b.functions), func(entry int32) bool { return b.functions[entry] == f })
	if added {
		b.functions = append(b.functions, f)
	}
	return entry
}

// Mapping returns the index of m with these attributes. attributes must be sorted. The Builder copies it.
func (b *Builder) Mapping(m Mapping, attributes []int32) int32 {
	entry, added := b.mappingIndex.add(m.hash(attributes), len(b.mappings), func(entry int32) bool {
		return b.mappings[entry] == m && slices.Equal(b.mappingAttributes.at(int(entry)), attributes)
	})
	if added {
		b.mappings = append(b.mappings, m)
		b.mappingAttributes.add(attributes)
	}
	return entry
}

// Location returns the index of l with these lines, in this order, and attributes. attributes must be sorted. The Builder
// copies both.
func (b *Builder) Location(l Location, lines []Line, attributes []int32) int32 {
	entry, added := b.locationIndex.add(l.hash(lines, attributes), len(b.locations), func(entry int32) bool {
		return b.locations[entry] == l && slices.Equal(b.linesAt(entry), lines) &&
			slices.Equal(b.locationAttributes.at(int(entry)), attributes)
	})
	if added {
		b.locations = append(b.locations, l)
		b.lines = append(b.lines, lines...)
		b.linesEnds = append(b.linesEnds, len(b.lines))
		b.locationAttributes.add(attributes)
	}
	return entry
}

// Stack returns the index of the stack with these locations, leaf first. The Builder copies locations.
func (b *Builder) Stack(locations []int32) int32 { return b.stacks.Index(locations) }

// NextStack returns space for a stack of n locations, to be filled before [Builder.AddNextStack]. This avoids a copy.
func (b *Builder) NextStack(n int) []int32 { return b.stacks.lists.next(n) }

// AddNextStack returns the index of the stack of n locations that was written to the space of [Builder.NextStack].
func (b *Builder) AddNextStack(n int) int32 { return b.stacks.Index(b.stacks.lists.next(n)) }

// StacksPerBatch is the number of stacks in a batch. The processor handles the cache misses of a batch in parallel.
const StacksPerBatch = 32

// AddNextStacks appends to dst the indices of the stacks that were written, one after the other, to the space of [Builder.NextStack]. ends
// has the ends of at most [StacksPerBatch] stacks.
func (b *Builder) AddNextStacks(dst []int32, ends []int) []int32 {
	if len(ends) == 0 {
		return dst
	}
	t := &b.stacks
	space := t.lists.next(ends[len(ends)-1])
	var hashes [StacksPerBatch]uint64
	start := 0
	for i, end := range ends {
		hashes[i] = hashIndices(0, space[start:end])
		start = end
	}
	for i := range ends {
		t.touched += t.index.touch(hashes[i])
	}
	start = 0
	for i, end := range ends {
		dst = append(dst, t.add(hashes[i], space[start:end]))
		start = end
	}
	return dst
}

// Link returns the index of l.
func (b *Builder) Link(l Link) int32 {
	entry, added := b.linkIndex.add(l.hash(), len(b.links), func(entry int32) bool { return b.links[entry] == l })
	if added {
		b.links = append(b.links, l)
	}
	return entry
}

// chunkBytes is the maximum size of a chunk, which is one allocation for many new strings. The first chunk of a message
// has smallChunkBytes, and each next one twice as much, since most messages are small.
const (
	chunkBytes      = 32 << 10
	smallChunkBytes = 2 << 10
)

// String returns the index of s. The Builder keeps s.
func (b *Builder) String(s string) int32 {
	entry, added := b.stringIndex.add(hashString(s), len(b.strings), func(entry int32) bool { return b.strings[entry] == s })
	if added {
		b.strings = append(b.strings, s)
	}
	return entry
}

// StringBytes returns the index of the string with these bytes. It copies them if the string is new.
func (b *Builder) StringBytes(s []byte) int32 {
	entry, added := b.stringIndex.add(hashBytes(s), len(b.strings), func(entry int32) bool { return b.strings[entry] == string(s) })
	if added {
		b.strings = append(b.strings, b.keep(s))
	}
	return entry
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

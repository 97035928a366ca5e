// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import "strings"

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

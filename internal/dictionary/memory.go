// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import "github.com/otelpprof/otelpprof/internal/scratch"

// The functions of this file return how many bytes of memory are held for the next use, texts apart.

// MemoryBytes returns the size of the tables.
func (b *Builder) MemoryBytes() int {
	return scratch.Bytes(b.strings) + b.stringIndex.memoryBytes() + b.chunk.Cap() +
		scratch.Bytes(b.functions) + b.functionIndex.memoryBytes() +
		scratch.Bytes(b.mappings) + b.mappingAttributes.memoryBytes() + b.mappingIndex.memoryBytes() +
		scratch.Bytes(b.locations) + scratch.Bytes(b.lines) + scratch.Bytes(b.linesEnds) +
		b.locationAttributes.memoryBytes() + b.locationIndex.memoryBytes() +
		b.stacks.MemoryBytes() +
		scratch.Bytes(b.attributes) + b.attributeIndex.memoryBytes() +
		scratch.Bytes(b.links) + b.linkIndex.memoryBytes()
}

// MemoryBytes returns the size of what the Importer notes.
func (im *Importer) MemoryBytes() int {
	bytes := scratch.Bytes(im.lines) + scratch.Bytes(im.indices) + scratch.Bytes(im.stack)
	for _, r := range []*remap{&im.strings, &im.functions, &im.mappings, &im.locations, &im.stacks, &im.attributes, &im.links} {
		bytes += scratch.Bytes(r.to)
	}
	return bytes
}

// MemoryBytes returns the size of the table.
func (t *SampleTable) MemoryBytes() int {
	return scratch.Bytes(t.samples) + t.attributes.memoryBytes() + t.index.memoryBytes()
}

// MemoryBytes returns the size of the table.
func (t *ListTable) MemoryBytes() int { return t.lists.memoryBytes() + t.index.memoryBytes() }

func (l *lists) memoryBytes() int { return scratch.Bytes(l.items) + scratch.Bytes(l.ends) }

func (x *hashIndex) memoryBytes() int { return scratch.Bytes(x.slots) }

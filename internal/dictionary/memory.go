// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"unsafe"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// The memory of an entry of each table in the message that WriteTo creates: an object, and the pointer to it.
const (
	messageMapping   = mappingMemory + 24  // with a list of attributes
	messageLocation  = locationMemory + 16 // with a list of attributes
	messageStack     = stackMemory + 8     // the list of its locations is rounded up
	messageFrame     = 4
	messageAttribute = attributeMemory + 16
)

// growing is the memory of a growing table and its discarded copies, as a multiple of its final size. A table grows by a
// quarter.
const growing = 5

// AttributeBytes and LinkBytes are the maximum memory of an attribute, without its text or list, and of a link: in the
// Builder and in the message, also while tables grow.
const (
	AttributeBytes = messageAttribute + growing*int64(unsafe.Sizeof(Attribute{})) + slotBytes
	LinkBytes      = linkMemory + growing*int64(unsafe.Sizeof(Link{})) + slotBytes
)

// slotBytes is the maximum memory of an index for each entry, also while the index grows: up to four slots.
const slotBytes = 6 * 8

// Bytes returns the maximum memory of tables of these lengths, in a Builder that was reset with them and in the message,
// without texts, attributes and links. lines and frames are those of all locations and stacks.
func (l Lengths) Bytes(lines, frames int) int64 {
	return int64(l[Strings])*(StringSize+16) + indexBytes(l[Strings]) +
		int64(l[Functions])*(functionMemory+sizeOf[Function]()) + indexBytes(l[Functions]) +
		int64(l[Mappings])*(messageMapping+growing*(sizeOf[Mapping]()+8+16)+slotBytes) +
		int64(l[Locations])*(messageLocation+sizeOf[Location]()+8+8+4) + indexBytes(l[Locations]) +
		int64(lines)*(lineMemory+2*sizeOf[Line]()) +
		int64(l[Stacks])*(messageStack+8) + indexBytes(l[Stacks]) +
		int64(frames)*(messageFrame+4)
}

func sizeOf[T any]() int64 { return int64(unsafe.Sizeof(*new(T))) }

// indexBytes returns the memory of an index that was reset for n entries.
func indexBytes(n int) int64 { return 8 * int64(indexSize(n)) }

// Bytes returns the maximum memory of the Builder and the message for the entries so far, without lists in attributes.
func (b *Builder) Bytes() int64 {
	c, tables, lines, frames := &b.counted, b.Len(), len(b.lines), len(b.stacks.lists.items)
	if tables != c.tables || lines != c.lines || frames != c.frames {
		c.tables, c.lines, c.frames = tables, lines, frames
		c.bytes = tables.Bytes(lines, frames) + int64(tables[Attributes])*AttributeBytes + int64(tables[Links])*LinkBytes
	}
	return c.bytes + b.keptBytes + b.keptBytes/2
}

// MessageBytes estimates the memory of the dictionary that WriteTo creates, without texts of attributes and lists.
func (b *Builder) MessageBytes() int64 {
	text := 0
	for _, s := range b.strings {
		text += len(s)
	}
	return int64(text) + int64(len(b.strings))*StringSize + int64(len(b.functions))*functionMemory +
		int64(len(b.mappings))*messageMapping + int64(len(b.locations))*messageLocation + int64(len(b.lines))*lineMemory +
		int64(b.stacks.lists.len())*messageStack + int64(len(b.stacks.lists.items))*messageFrame +
		int64(len(b.attributes))*messageAttribute + int64(len(b.links))*linkMemory
}

// Kept returns the memory of the tables in bytes, including unused capacity.
func (b *Builder) Kept() int64 {
	return kept(b.strings) + kept(b.functions) + kept(b.mappings) + kept(b.locations) + kept(b.lines) + kept(b.linesEnds) +
		kept(b.attributes) + kept(b.links) + b.mappingAttributes.kept() + b.locationAttributes.kept() + b.stacks.Kept() +
		kept(b.stringIndex.slots) + kept(b.functionIndex.slots) + kept(b.mappingIndex.slots) + kept(b.locationIndex.slots) +
		kept(b.attributeIndex.slots) + kept(b.linkIndex.slots)
}

func (l *lists) kept() int64 { return kept(l.items) + kept(l.ends) }

func kept[T any](s []T) int64 { return int64(scratch.Bytes(s)) }

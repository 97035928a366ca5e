// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"unsafe"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// What an entry of each table takes in the message that WriteTo makes: an object, and the pointer to it.
const (
	messageString    = stringMemory
	messageFunction  = functionMemory
	messageMapping   = mappingMemory + 24  // with a list of attributes
	messageLocation  = locationMemory + 16 // with a list of attributes
	messageLine      = lineMemory
	messageStack     = stackMemory + 8 // the list of its locations is rounded up
	messageFrame     = 4
	messageAttribute = attributeMemory + 16
	messageLink      = linkMemory
)

// growing is the memory of a growing table with its discarded copies, as a multiple of its final size. It grows by a quarter.
const growing = 5

// AttributeBytes and LinkBytes are the most that an attribute, but for its text or list, and a link take in the Builder and in
// the message, also while tables grow.
const (
	AttributeBytes = messageAttribute + growing*int64(unsafe.Sizeof(Attribute{})) + slotBytes
	LinkBytes      = messageLink + growing*int64(unsafe.Sizeof(Link{})) + slotBytes
)

// slotBytes is the most that an index takes for an entry, also while it grows: it has up to four slots for each.
const slotBytes = 6 * 8

// Bytes is the most that tables of these sizes take in a Builder that was told of them and in the message, but for texts,
// attributes and links. lines and frames are those of all locations and stacks.
func (s Sizes) Bytes(lines, frames int) int64 {
	return int64(s.Strings)*(messageString+16) + indexBytes(s.Strings) +
		int64(s.Functions)*(messageFunction+sizeOf[Function]()) + indexBytes(s.Functions) +
		int64(s.Mappings)*(messageMapping+growing*(sizeOf[Mapping]()+8+16)+slotBytes) +
		int64(s.Locations)*(messageLocation+sizeOf[Location]()+8+8+4) + indexBytes(s.Locations) +
		int64(lines)*(messageLine+2*sizeOf[Line]()) +
		int64(s.Stacks)*(messageStack+8) + indexBytes(s.Stacks) +
		int64(frames)*(messageFrame+4)
}

func sizeOf[T any]() int64 { return int64(unsafe.Sizeof(*new(T))) }

// indexBytes is the memory of an index that was told to expect n entries.
func indexBytes(n int) int64 { return 8 * int64(indexSize(n)) }

// Bytes is the most that the Builder and the message take for what has been added so far, but for lists in attributes.
func (b *Builder) Bytes() int64 {
	n := b.Len()
	return n.Bytes(len(b.lines), len(b.stacks.lists.items)) + int64(n.Attributes)*AttributeBytes + int64(n.Links)*LinkBytes +
		b.keptBytes + b.keptBytes/2
}

// MessageBytes is about what the dictionary that WriteTo makes takes in memory, but for texts of attributes and lists.
func (b *Builder) MessageBytes() int64 {
	text := 0
	for _, s := range b.strings {
		text += len(s)
	}
	return int64(text) + int64(len(b.strings))*messageString + int64(len(b.functions))*messageFunction +
		int64(len(b.mappings))*messageMapping + int64(len(b.locations))*messageLocation + int64(len(b.lines))*messageLine +
		int64(b.stacks.Len())*messageStack + int64(len(b.stacks.lists.items))*messageFrame +
		int64(len(b.attributes))*messageAttribute + int64(len(b.links))*messageLink
}

// Kept is the memory that the tables take up, whether it is in use or not.
func (b *Builder) Kept() int64 {
	return kept(b.strings) + kept(b.functions) + kept(b.mappings) + kept(b.locations) + kept(b.lines) + kept(b.linesEnds) +
		kept(b.attributes) + kept(b.links) + b.mappingAttributes.kept() + b.locationAttributes.kept() + b.stacks.Kept() +
		kept(b.stringIndex.slots) + kept(b.functionIndex.slots) + kept(b.mappingIndex.slots) + kept(b.locationIndex.slots) +
		kept(b.attributeIndex.slots) + kept(b.linkIndex.slots)
}

func (l *lists) kept() int64 { return kept(l.items) + kept(l.ends) }

func kept[T any](s []T) int64 { return int64(scratch.Bytes(s)) }

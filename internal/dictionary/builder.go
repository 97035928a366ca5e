// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Builder collects the entries of one dictionary. Create it with [New]. It is not safe for concurrent use.
type Builder struct {
	strings     []string
	stringIndex hashIndex
	chunk       *strings.Builder
	// keptBytes is the length of all copied strings.
	keptBytes int64

	functions     []Function
	functionIndex hashIndex

	mappings          []Mapping
	mappingAttributes lists
	mappingIndex      hashIndex

	locations          []Location
	lines              []Line
	linesEnds          []int
	locationAttributes lists
	locationIndex      hashIndex

	stacks ListTable

	attributes     []Attribute
	attributeIndex hashIndex

	links     []Link
	linkIndex hashIndex

	// counted is the memory of tables of these sizes. Many calls of Bytes add nothing to them.
	counted struct {
		tables        Lengths
		lines, frames int
		bytes         int64
	}
}

// New returns a Builder whose tables contain only the zero entry.
func New() *Builder {
	b := &Builder{}
	b.Reset(Lengths{})
	return b
}

// Reset removes all entries except entry 0, and keeps the memory for the next dictionary. Expected lengths only avoid reallocations.
func (b *Builder) Reset(expect Lengths) {
	clear(b.strings)
	clear(b.attributes)
	b.strings = b.strings[:0]
	b.chunk, b.keptBytes = &strings.Builder{}, 0
	b.functions = b.functions[:0]
	b.mappings = b.mappings[:0]
	b.mappingAttributes.reset()
	b.locations = b.locations[:0]
	b.lines = b.lines[:0]
	b.linesEnds = b.linesEnds[:0]
	b.locationAttributes.reset()
	b.attributes = b.attributes[:0]
	b.links = b.links[:0]

	b.stringIndex.reset(expect[Strings])
	b.functionIndex.reset(expect[Functions])
	b.mappingIndex.reset(expect[Mappings])
	b.locationIndex.reset(expect[Locations])
	b.stacks.Reset(expect[Stacks])
	b.attributeIndex.reset(expect[Attributes])
	b.linkIndex.reset(expect[Links])
	// These are entry 0 of each table.
	b.strings = slices.Grow(b.strings, expect[Strings]+1)
	b.functions = slices.Grow(b.functions, expect[Functions]+1)
	b.locations = slices.Grow(b.locations, expect[Locations]+1)
	b.linesEnds = slices.Grow(b.linesEnds, expect[Locations]+1)
	b.locationAttributes.ends = slices.Grow(b.locationAttributes.ends, expect[Locations]+1)

	b.String("")
	b.Function(Function{})
	b.Mapping(Mapping{}, nil)
	b.Location(Location{}, nil, nil)
	b.Stack(nil)
	b.attribute(Attribute{Kind: pcommon.ValueTypeEmpty})
	b.Link(Link{})
}

// ExpectParts makes room for this number of lines in all locations, and of frames in all stacks. It only avoids
// reallocations.
func (b *Builder) ExpectParts(lines, frames int) {
	b.lines = slices.Grow(b.lines, lines)
	b.stacks.lists.items = slices.Grow(b.stacks.lists.items, frames)
}

// Len returns the lengths of the tables, including entry 0.
func (b *Builder) Len() Lengths {
	return Lengths{
		Strings:    len(b.strings),
		Functions:  len(b.functions),
		Mappings:   len(b.mappings),
		Locations:  len(b.locations),
		Stacks:     b.stacks.lists.len(),
		Attributes: len(b.attributes),
		Links:      len(b.links),
	}
}

// NumAttributes returns the number of attributes, including entry 0.
func (b *Builder) NumAttributes() int { return len(b.attributes) }

// NumLinks returns the number of links, including entry 0.
func (b *Builder) NumLinks() int { return len(b.links) }

// StringAt returns string i.
func (b *Builder) StringAt(i int32) string { return b.strings[i] }

// linesAt returns the lines of location i. They are valid until the next call that adds a location.
func (b *Builder) linesAt(i int32) []Line {
	start := 0
	if i > 0 {
		start = b.linesEnds[i-1]
	}
	return b.lines[start:b.linesEnds[i]]
}

// AttributeAt returns attribute i.
func (b *Builder) AttributeAt(i int32) Attribute { return b.attributes[i] }

// LinkAt returns link i.
func (b *Builder) LinkAt(i int32) Link { return b.links[i] }

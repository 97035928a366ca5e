// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package tables puts the strings, mappings, functions and locations of a pprof into the dictionary of an OTLP message.
package tables // import "github.com/otelpprof/otelpprof/translator/internal/tables"

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/internal/references"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// Rules are what translations differ in.
type Rules interface {
	// Text returns string i of the payload as valid UTF-8. It may be borrowed from the payload.
	Text(i uint32) []byte
	// TextAttribute returns the attribute of a key and of string i of the payload, which is not empty.
	TextAttribute(key int32, i uint32) int32
	// Function translates a function. Its strings come from [Tables.String].
	Function(from *pprofwire.Function) dictionary.Function
	// Line translates a line of a function that is in the dictionary already.
	Line(from *pprofwire.Line, function int32) dictionary.Line
	// LocationAttributes appends attributes to those of a location. leaf is the function of its first line, nil without one.
	LocationAttributes(attributes []int32, leaf *pprofwire.Function) []int32
}

// Tables translates the tables of one payload. The zero value is ready for use; the memory is used again by the next payload.
type Tables struct {
	// Locations are the dictionary's locations by the position of those of the payload.
	Locations []int32
	// UnknownMappings and NoFunction count locations in a mapping that does not exist, and lines without a function.
	UnknownMappings, NoFunction int

	wire  *pprofwire.Profile
	dict  *dictionary.Builder
	rules Rules
	refs  references.Resolver
	// What a position of the wire became in the dictionary, plus one; 0 says nothing yet.
	strings, functions, mappings []int32
	// reached tells of each mapping whether a location has it that a sample has.
	reached    []bool
	lines      []dictionary.Line
	attributes []int32
}

// Resolve begins with a payload: it follows all references. What stands in wire.LocationIDs are positions of locations then.
// repeated counts the entries that are given twice. The error is pprofwire.ErrMalformed.
func (t *Tables) Resolve(wire *pprofwire.Profile, dict *dictionary.Builder, rules Rules) (repeated int, err error) {
	t.wire, t.dict, t.rules = wire, dict, rules
	t.UnknownMappings, t.NoFunction = 0, 0
	return t.refs.Resolve(wire)
}

// Release drops what refers to the payload.
func (t *Tables) Release() { t.wire, t.dict, t.rules = nil, nil, nil }

// Begin empties what is known of strings. It comes after the dictionary was reset, and before String.
func (t *Tables) Begin() { t.strings = scratch.Zeroed(t.strings, t.wire.NumStrings()) }

// String puts string i of the payload into the dictionary. A reference to string 0 is one that is not set.
func (t *Tables) String(i uint32) int32 {
	if i == 0 {
		return 0
	}
	if index := t.strings[i]; index != 0 {
		return index - 1
	}
	index := t.dict.StringBytes(t.rules.Text(i))
	t.strings[i] = index + 1
	return index
}

// AddStack puts the stack of the locations at these positions into the dictionary.
func (t *Tables) AddStack(positions []uint64) int32 {
	stack, locations := t.dict.NextStack(len(positions)), t.Locations
	for i, position := range positions {
		stack[i] = locations[position]
	}
	return t.dict.AddNextStack(len(stack))
}

// Bytes is the most that the tables take for wire, beside what it takes itself and what the dictionary does.
func Bytes(wire *pprofwire.Profile) int64 {
	return references.Bytes(wire) + 4*int64(wire.NumStrings()+len(wire.Functions)+len(wire.Locations)) + 5*int64(len(wire.Mappings))
}

// Kept is the memory that is used again by the next payload.
func (t *Tables) Kept() int64 {
	return t.refs.Kept() + int64(scratch.Bytes(t.strings)+scratch.Bytes(t.functions)+scratch.Bytes(t.mappings)+scratch.Bytes(t.Locations)+
		scratch.Bytes(t.reached)+scratch.Bytes(t.lines)+scratch.Bytes(t.attributes))
}

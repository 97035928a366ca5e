// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package tables adds the strings, mappings, functions and locations of a pprof to the dictionary of an OTLP message.
package tables // import "github.com/otelpprof/otelpprof/translator/internal/tables"

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// Rules is the part of the translation that depends on the source of the pprof.
type Rules interface {
	// Text returns string i of the payload as valid UTF-8. The result may refer to memory of the payload.
	Text(i uint32) []byte
	// AddText adds the attribute with this key and string i of the payload to the dictionary, if there is memory.
	AddText(key int32, i uint32) (attribute int32, added bool)
	// Function translates a function. It gets its strings from [Tables.String].
	Function(from *pprofwire.Function) dictionary.Function
	// Line translates a line. function is the index of its function in the dictionary.
	Line(from *pprofwire.Line, function int32) dictionary.Line
	// LocationAttributes appends attributes to those of a location. leaf is the function of its first line, or nil if
	// there is none.
	LocationAttributes(attributes []int32, leaf *pprofwire.Function) []int32
}

// Tables translates the tables of one payload. The zero value is ready for use. The next payload reuses its memory.
type Tables struct {
	// Locations maps positions in the payload to locations of the dictionary.
	Locations []int32
	// UnknownMappings counts locations whose mapping does not exist, NoFunction counts lines without a function.
	UnknownMappings, NoFunction int

	wire  *pprofwire.Profile
	dict  *dictionary.Builder
	rules Rules
	// These find the positions of entries by their ids.
	functionIDs, mappingIDs, locationIDs idTable
	// reachedLocations and reachedMappings mark those that samples refer to.
	reachedLocations, reachedMappings []bool
	// Indices of the dictionary plus one, by position in the payload; 0 means not added yet.
	strings, functions, mappings []int32
	// texts has, for each string, the attribute that last had it as its value. longTexts has those of long strings.
	texts      []textAttribute
	longTexts  map[textKey]int32
	lines      []dictionary.Line
	attributes []int32
	// ends and stacks are those of a batch.
	ends   []int
	stacks []int32
}

// Resolve starts a payload and resolves all its references: afterwards, wire.LocationIDs has positions of locations.
// repeated is the number of entries that appear a second time with the same content. The error is pprofwire.ErrMalformed: two
// different entries have the same id, or an id does not exist. A line without a function and a mapping id that does not exist are
// not errors.
func (t *Tables) Resolve(wire *pprofwire.Profile, dict *dictionary.Builder, rules Rules) (repeated int, err error) {
	t.wire, t.dict, t.rules = wire, dict, rules
	t.UnknownMappings, t.NoFunction = 0, 0
	repeated, err = t.index()
	if err == nil {
		err = t.resolveFrames()
	}
	if err == nil {
		err = t.checkLines()
	}
	return repeated, err
}

// Release drops all references to the payload.
func (t *Tables) Release() { t.wire, t.dict, t.rules, t.longTexts = nil, nil, nil, nil }

// String adds string i of the payload to the dictionary. By pprof's rules, 0 means that no string is set.
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

// AddStack adds the stack of the locations at these positions to the dictionary.
func (t *Tables) AddStack(positions []uint64) int32 {
	stack, locations := t.dict.NextStack(len(positions)), t.Locations
	for i, position := range positions {
		stack[i] = locations[position]
	}
	return t.dict.AddNextStack(len(stack))
}

// AddStacks adds the stacks of samples first to end-1 to the dictionary. There must be at most [dictionary.StacksPerBatch]. The result is
// valid until the next call.
func (t *Tables) AddStacks(first, end int) []int32 {
	samples, start := t.wire.Samples, 0
	if first > 0 {
		start = int(samples[first-1].LocationsEnd)
	}
	positions := t.wire.LocationIDs[start:samples[end-1].LocationsEnd]
	space, locations := t.dict.NextStack(len(positions)), t.Locations
	for i, position := range positions {
		space[i] = locations[position]
	}
	t.ends = t.ends[:0]
	for i := first; i < end; i++ {
		t.ends = append(t.ends, int(samples[i].LocationsEnd)-start)
	}
	t.stacks = t.dict.AddNextStacks(t.stacks[:0], t.ends)
	return t.stacks
}

// Bytes returns the most memory that the tables use for wire, without wire itself and the dictionary.
func Bytes(wire *pprofwire.Profile) int64 {
	return 12*int64(wire.NumStrings()) + (tableBytes+4)*int64(len(wire.Functions)) + (tableBytes+5)*int64(len(wire.Mappings)+len(wire.Locations))
}

// Kept returns the memory that the next payload reuses, in bytes.
func (t *Tables) Kept() int64 {
	return t.functionIDs.kept() + t.mappingIDs.kept() + t.locationIDs.kept() + int64(scratch.Bytes(t.strings)+scratch.Bytes(t.texts)+scratch.Bytes(t.functions)+scratch.Bytes(t.mappings)+scratch.Bytes(t.Locations)+
		scratch.Bytes(t.reachedLocations)+scratch.Bytes(t.reachedMappings)+scratch.Bytes(t.lines)+scratch.Bytes(t.attributes))
}

// textAttribute is the key and the attribute of a text. key is an index of the dictionary, attribute an index plus one.
type textAttribute struct{ key, attribute int32 }

// textKey is a key in the dictionary and a string of the payload.
type textKey struct {
	key  int32
	text uint32
}

// LongText is the length in bytes above which a text is found by its index, not by its content: a small payload can repeat it often.
const LongText = 256

// LongTextBytes is the memory that the attribute of a long text needs in addition to [Bytes].
const LongTextBytes = 64

// TextAttribute returns the index of the attribute with this key and string i of the payload. If [Rules] add none, it returns 0.
func (t *Tables) TextAttribute(key int32, i uint32) int32 {
	if last := t.texts[i]; last.attribute != 0 && last.key == key {
		return last.attribute - 1
	}
	return t.findText(key, i)
}

// findText is TextAttribute for a text that last had another key, or none.
func (t *Tables) findText(key int32, i uint32) int32 {
	long := len(t.wire.String(i)) > LongText
	if long {
		if attribute, known := t.longTexts[textKey{key, i}]; known {
			return attribute
		}
	}
	attribute, added := t.rules.AddText(key, i)
	if !added {
		return 0
	}
	t.texts[i] = textAttribute{key, attribute + 1}
	if long {
		scratch.Store(&t.longTexts, textKey{key, i}, attribute)
	}
	return attribute
}

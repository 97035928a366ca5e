// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer"

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// write writes the frames of all locations to the dictionary.
func (m *message) write() {
	for _, key := range flagKeys {
		m.names.number([]byte(key))
	}
	functions := m.names.write(m.dictionary)
	var flags [numFlags]int32 // the indices of their attributes, or 0 until they are needed
	for _, mapping := range m.mappings {
		var has [numFlags]bool
		for _, u := range mapping.locations {
			if frames := m.frames[u.begin:u.end]; len(frames) > 0 {
				m.setLines(m.dictionary.LocationTable().At(int(u.location)), frames, functions)
				addFlags(&has, frames)
			}
		}
		list := m.dictionary.MappingTable().At(int(mapping.index)).AttributeIndices()
		for i, set := range has {
			if set {
				m.removeAttribute(list, flagKeys[i])
				if flags[i] == 0 {
					flags[i] = m.trueAttribute(flagKeys[i])
				}
				list.Append(flags[i])
			}
		}
	}
}

// setLines replaces the lines of a location. What was said of the old ones does not hold any more.
func (m *message) setLines(location pprofile.Location, frames []index.Frame, functions []int32) {
	lines := location.Lines()
	lines.RemoveIf(func(pprofile.Line) bool { return true })
	lines.EnsureCapacity(len(frames))
	for _, frame := range frames {
		line := lines.AppendEmpty()
		line.SetFunctionIndex(functions[frame.Function])
		line.SetLine(int64(frame.Line))
		line.SetColumn(int64(frame.Column))
	}
	m.removeAttribute(location.AttributeIndices(), attributeIsFolded)
}

// The flags of a mapping say what its names have.
const (
	hasFunctions = iota
	hasFilenames
	hasLineNumbers
	hasInlineFrames
	numFlags
)

var flagKeys = [numFlags]string{
	hasFunctions:    "pprof.mapping.has_functions",
	hasFilenames:    "pprof.mapping.has_filenames",
	hasLineNumbers:  "pprof.mapping.has_line_numbers",
	hasInlineFrames: "pprof.mapping.has_inline_frames",
}

// addFlags sets those that hold for the frames of a location.
func addFlags(has *[numFlags]bool, frames []index.Frame) {
	has[hasFunctions] = true
	has[hasInlineFrames] = has[hasInlineFrames] || len(frames) > 1
	for _, frame := range frames {
		has[hasFilenames] = has[hasFilenames] || frame.File != 0
		has[hasLineNumbers] = has[hasLineNumbers] || frame.Line != 0
	}
}

// trueAttribute returns the index of the attribute of a flag. Its key is one of the texts that were written.
func (m *message) trueAttribute(flag string) int32 {
	key, attributes := m.names.texts[m.names.numbers[flag]].write(m.dictionary), m.dictionary.AttributeTable()
	for i, a := range attributes.All() {
		if i > 0 && a.KeyStrindex() == key && a.UnitStrindex() == 0 && a.Value().Type() == pcommon.ValueTypeBool && a.Value().Bool() {
			return int32(i)
		}
	}
	added := attributes.AppendEmpty()
	added.SetKeyStrindex(key)
	added.Value().SetBool(true)
	return int32(attributes.Len() - 1)
}

func (m *message) removeAttribute(list pcommon.Int32Slice, key string) {
	has := func(a int32) bool {
		found, _, ok := attributeAt(m.dictionary, a)
		return ok && found == key
	}
	for _, a := range list.All() {
		if has(a) {
			list.FromRaw(slices.DeleteFunc(list.AsRaw(), has))
			return
		}
	}
}

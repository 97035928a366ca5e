// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// fillTables puts the mappings, functions and locations that samples reach into the dictionary.
func (t *decoding) fillTables() {
	w := &t.wire
	t.functions = scratch.Zeroed(t.functions, len(w.Functions))
	t.locations = scratch.Zeroed(t.locations, len(w.Locations))
	t.fillMappings()
	for i := range w.Locations {
		if t.refs.Reached[i] {
			t.locations[i] = t.addLocation(i)
		}
	}
}

// fillMappings keeps the order of the mappings: by convention the first is the main binary.
func (t *decoding) fillMappings() {
	w := &t.wire
	t.mappings = scratch.Zeroed(t.mappings, len(w.Mappings))
	t.mappingReached = scratch.Zeroed(t.mappingReached, len(w.Mappings))
	for i := range w.Locations {
		if id := w.Locations[i].MappingID; t.refs.Reached[i] && id != 0 {
			if position, found := t.refs.Mappings.Find(id); found {
				t.mappingReached[position] = true
			}
		}
	}
	for i, reached := range t.mappingReached {
		if reached {
			t.mappings[i] = t.addMapping(&w.Mappings[i])
		}
	}
}

func (t *decoding) addMapping(m *pprofwire.Mapping) int32 {
	attributes := t.attributes[:0]
	if m.BuildID != 0 {
		attributes = append(attributes, t.dict.StringBytesAttribute(t.dict.String(mappingBuildID), 0, t.valid(t.wire.String(m.BuildID))))
	}
	attributes = t.appendTrue(attributes, mappingHasFunctions, m.HasFunctions)
	attributes = t.appendTrue(attributes, mappingHasFilenames, m.HasFilenames)
	attributes = t.appendTrue(attributes, mappingHasLineNumbers, m.HasLineNumbers)
	attributes = t.appendTrue(attributes, mappingHasInlineFrames, m.HasInlineFrames)
	t.attributes = dictionary.SortSet(attributes, 0)
	return t.dict.Mapping(dictionary.Mapping{
		Start:    m.Start,
		Limit:    m.Limit,
		Offset:   m.Offset,
		Filename: t.string(m.Filename),
	}, t.attributes)
}

func (t *decoding) appendTrue(attributes []int32, key string, value bool) []int32 {
	if !value {
		return attributes
	}
	return append(attributes, t.dict.BoolAttribute(t.dict.String(key), 0, true))
}

func (t *decoding) addLocation(i int) int32 {
	l, lines := &t.wire.Locations[i], t.wire.LinesAt(i)
	location := dictionary.Location{Address: l.Address}
	if l.MappingID != 0 {
		if position, found := t.refs.Mappings.Find(l.MappingID); found {
			location.Mapping = t.mappings[position]
		} else {
			t.result.Repairs.UnknownMappings++
		}
	}
	frameType := int32(-1)
	t.lines = t.lines[:0]
	for j := range lines {
		line := &lines[j]
		function := int32(0)
		if position, found := t.refs.Functions.Find(line.FunctionID); found {
			function = t.addFunction(position)
			if j == 0 {
				frameType = t.frameType(isNative(t.wire.Functions[position], &t.wire))
			}
		}
		t.lines = append(t.lines, dictionary.Line{Function: function, Line: max(line.Line, 0), Column: max(line.Column, 0)})
	}
	t.attributes = t.appendTrue(t.attributes[:0], locationIsFolded, l.IsFolded)
	if frameType >= 0 {
		t.attributes = append(t.attributes, frameType)
	}
	t.attributes = dictionary.SortSet(t.attributes, 0)
	return t.dict.Location(location, t.lines, t.attributes)
}

func isNative(f pprofwire.Function, w *pprofwire.Profile) bool {
	return f.Name != 0 && isNativeFunction(w.String(f.Name))
}

// addFunction puts the function at a position of the pprof into the dictionary.
func (t *decoding) addFunction(position int) int32 {
	if index := t.functions[position]; index != 0 {
		return index - 1
	}
	f := &t.wire.Functions[position]
	function := dictionary.Function{Name: t.string(f.Name), StartLine: max(f.StartLine, 0)}
	if f.Filename != 0 && !isNoFile(t.wire.String(f.Filename)) {
		function.Filename = t.string(f.Filename)
	}
	if system := t.string(f.SystemName); system != function.Name {
		function.SystemName = system
	}
	if function.Name == 0 && function.SystemName == 0 && function.Filename == 0 {
		function.Name = t.dict.String(anonymousFunction)
	}
	index := t.dict.Function(function)
	t.functions[position] = index + 1
	return index
}

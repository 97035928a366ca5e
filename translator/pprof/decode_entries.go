// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// fillTables puts the reached mappings, functions and locations into the dictionary, table by table, so that mappings
// keep their order: by convention the first is the main binary.
func (t *decoding) fillTables() {
	w := &t.wire
	t.functions = scratch.Zeroed(t.functions, len(w.Functions))
	t.mappings = scratch.Zeroed(t.mappings, len(w.Mappings))
	t.mappingReached = scratch.Zeroed(t.mappingReached, len(w.Mappings))
	t.locations = scratch.Zeroed(t.locations, len(w.Locations))
	for i := range w.Locations {
		if t.refs.Reached[i] && w.Locations[i].MappingID != 0 {
			if position, found := t.refs.Mappings.Find(w.Locations[i].MappingID); found {
				t.mappingReached[position] = true
			}
		}
	}
	for i := range w.Mappings {
		if t.mappingReached[i] || t.opts.KeepUnreferencedMappings {
			t.mappings[i] = t.addMapping(&w.Mappings[i]) + 1
		}
	}
	for i := range w.Locations {
		if t.refs.Reached[i] {
			t.locations[i] = t.addLocation(i)
		}
	}
}

func (t *decoding) addMapping(m *pprofwire.Mapping) int32 {
	t.attributes = t.appendText(t.attributes[:0], mappingBuildID, m.BuildID)
	t.addTrueAttribute(mappingHasFunctions, m.HasFunctions)
	t.addTrueAttribute(mappingHasFilenames, m.HasFilenames)
	t.addTrueAttribute(mappingHasLineNumbers, m.HasLineNumbers)
	t.addTrueAttribute(mappingHasInlineFrames, m.HasInlineFrames)
	t.attributes = dictionary.SortSet(t.attributes, 0)
	return t.dict.Mapping(dictionary.Mapping{
		Start:    m.Start,
		Limit:    m.Limit,
		Offset:   m.Offset,
		Filename: t.string(m.Filename),
	}, t.attributes)
}

func (t *decoding) addTrueAttribute(key string, value bool) {
	if value {
		t.attributes = append(t.attributes, t.dict.BoolAttribute(t.dict.String(key), 0, true))
	}
}

func (t *decoding) addLocation(i int) int32 {
	l, lines := &t.wire.Locations[i], t.wire.LinesAt(i)
	location := dictionary.Location{Address: l.Address}
	if l.MappingID != 0 {
		if position, found := t.refs.Mappings.Find(l.MappingID); found {
			location.Mapping = t.mappings[position] - 1
		} else {
			t.stats.Repairs.UnknownMappings++
		}
	}
	t.lines = t.lines[:0]
	for j := range lines {
		t.lines = append(t.lines, dictionary.Line{
			Function: t.addFunction(lines[j].FunctionID),
			Line:     lines[j].Line,
			Column:   lines[j].Column,
		})
	}
	t.attributes = t.attributes[:0]
	t.addTrueAttribute(locationIsFolded, l.IsFolded)
	return t.dict.Location(location, t.lines, t.attributes)
}

func (t *decoding) addFunction(id uint64) int32 {
	position, found := t.refs.Functions.Find(id)
	if !found {
		t.stats.Repairs.NoFunction++
		return 0
	}
	if index := t.functions[position]; index != 0 {
		return index - 1
	}
	f := &t.wire.Functions[position]
	index := t.dict.Function(dictionary.Function{
		Name:       t.string(f.Name),
		SystemName: t.string(f.SystemName),
		Filename:   t.string(f.Filename),
		StartLine:  f.StartLine,
	})
	t.functions[position] = index + 1
	return index
}

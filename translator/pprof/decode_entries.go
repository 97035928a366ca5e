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
func (t *decoding) fillTables() error {
	w := &t.wire
	t.functions = scratch.Zeroed(t.functions, len(w.Functions))
	t.mappings = scratch.Zeroed(t.mappings, len(w.Mappings))
	t.mappingReached = scratch.Zeroed(t.mappingReached, len(w.Mappings))
	t.locations = scratch.Zeroed(t.locations, len(w.Locations))
	for i := range w.Locations {
		if t.reached[i] && w.Locations[i].MappingID != 0 {
			if position, found := t.mappingIDs.find(w.Locations[i].MappingID); found {
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
		lines, err := t.checkLines(i)
		if err != nil {
			return err
		}
		if t.reached[i] {
			t.locations[i] = t.addLocation(i, lines)
		}
	}
	for i, position := range t.frames {
		t.frames[i] = t.locations[position]
	}
	return nil
}

func (t *decoding) addMapping(m *pprofwire.Mapping) int32 {
	t.attributes = t.attributes[:0]
	if m.BuildID != 0 {
		t.attributes = append(t.attributes, t.textAttribute(mappingBuildID, m.BuildID))
	}
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

// checkLines checks the functions of the lines of location i, whether it is reached or not.
func (t *decoding) checkLines(i int) ([]pprofwire.Line, error) {
	lines := t.wire.LinesAt(i)
	for j := range lines {
		id := lines[j].FunctionID
		if t.functionIDs.dense && id-1 < uint64(len(t.wire.Functions)) {
			continue
		}
		if _, found := t.functionIDs.find(id); !found && id != 0 {
			return nil, malformed("location %d: function id %d does not exist", i, id)
		}
	}
	return lines, nil
}

func (t *decoding) addLocation(i int, lines []pprofwire.Line) int32 {
	l := &t.wire.Locations[i]
	location := dictionary.Location{Address: l.Address}
	if l.MappingID != 0 {
		if position, found := t.mappingIDs.find(l.MappingID); found {
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
	position, found := t.functionIDs.find(id)
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

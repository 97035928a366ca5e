// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge

import (
	"cmp"
	"slices"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// string returns the string of the sum for string i of the payload. A reference to string 0 is one that is not set.
func (m *Merger) string(i uint32) int32 {
	if i == 0 {
		return 0
	}
	return m.anyString(i)
}

func (m *Merger) anyString(i uint32) int32 {
	p := &m.payload
	if p.strings[i] == 0 {
		p.strings[i] = m.newString(p.wire.String(i)) + 1
	}
	return p.strings[i] - 1
}

// newString returns the string of the sum with these bytes.
func (m *Merger) newString(text []byte) int32 {
	before := m.dict.Len().Strings
	i := m.dict.StringBytes(text)
	if int(i) == before {
		m.stringBytes += len(text)
	}
	return i
}

// mappingKey is what makes two mappings the same, wherever they were loaded.
type mappingKey struct {
	size, offset uint64
	// file is the build ID or, without one, the name of the file.
	file int32
}

// mappingSizeRounding is what sizes are rounded up to: the same binary may be mapped up to a page's end or not.
const mappingSizeRounding = 0x1000

// mapping returns the mapping of the sum, counted from 1, for the one at a position of the payload.
func (m *Merger) mapping(position int) int32 {
	p := &m.payload
	if p.mappings[position] != 0 {
		return p.mappings[position]
	}
	mapping := p.wire.Mappings[position]
	file, buildID := m.string(mapping.Filename), m.string(mapping.BuildID)
	size := mapping.Limit - mapping.Start + mappingSizeRounding - 1
	key := mappingKey{size: size - size%mappingSizeRounding, offset: mapping.Offset, file: cmp.Or(buildID, file)}
	index, known := m.mappingKey[key]
	if !known {
		mapping.Filename, mapping.BuildID = uint32(file), uint32(buildID)
		m.mappings = append(m.mappings, mapping)
		index = int32(len(m.mappings))
		m.mappingKey[key] = index
	}
	p.mappings[position] = index
	return index
}

// folded is the list of attributes of a location that is folded.
var folded = []int32{1}

// location returns the location of the sum for the one at a position of the payload.
func (m *Merger) location(position int) int32 {
	p := &m.payload
	from := &p.wire.Locations[position]
	location := dictionary.Location{Address: from.Address}
	if found, ok := p.refs.Mappings.Find(from.MappingID); ok && from.MappingID != 0 {
		location.Mapping = m.mapping(found)
		location.Address += m.mappings[location.Mapping-1].Start - p.wire.Mappings[found].Start
	}
	p.lines = p.lines[:0]
	for _, line := range p.wire.LinesAt(position) {
		p.lines = append(p.lines, dictionary.Line{Function: m.function(line.FunctionID), Line: line.Line, Column: line.Column})
	}
	var attributes []int32
	if from.IsFolded {
		attributes = folded
	}
	return m.newLocation(location, p.lines, attributes)
}

func (m *Merger) newLocation(location dictionary.Location, lines []dictionary.Line, attributes []int32) int32 {
	before := m.dict.Len().Locations
	i := m.dict.Location(location, lines, attributes)
	if int(i) == before {
		m.lines += len(lines)
	}
	return i
}

// function returns the function of the sum, counted from 1, for the one with an id of the payload.
func (m *Merger) function(id uint64) int32 {
	p := &m.payload
	position, found := p.refs.Functions.Find(id)
	if !found {
		return 0
	}
	if p.functions[position] == 0 {
		from := &p.wire.Functions[position]
		p.functions[position] = 1 + m.dict.Function(dictionary.Function{
			Name:       m.string(from.Name),
			SystemName: m.string(from.SystemName),
			Filename:   m.string(from.Filename),
			StartLine:  from.StartLine,
		})
	}
	return p.functions[position]
}

// A label is a list of these parts. The text counts from 1, as a label may be an empty one; the number takes two.
const (
	labelKey = iota
	labelText
	labelUnit
	labelNumberLow
	labelNumberHigh
	labelParts
)

// listLabels fills labelList with the labels of a sample: by their key, those of one key in their order. A sample that is
// subtracted has one more.
func (m *Merger) listLabels(labels []pprofwire.Label) {
	p := &m.payload
	for i := range labels {
		l := &labels[i]
		parts := [labelParts]int32{
			labelKey:        m.anyString(l.Key),
			labelUnit:       m.string(l.NumUnit),
			labelNumberLow:  int32(l.Num),
			labelNumberHigh: int32(l.Num >> 32),
		}
		if l.Str != 0 {
			parts[labelText] = m.anyString(l.Str) + 1
		}
		p.labelList = append(p.labelList, m.labels.Index(parts[:]))
	}
	if p.base {
		p.labelList = append(p.labelList, m.baseLabel())
	}
	if len(p.labelList) > 1 {
		slices.SortStableFunc(p.labelList, func(a, b int32) int {
			return cmp.Compare(m.labels.At(a)[labelKey], m.labels.At(b)[labelKey])
		})
	}
}

// baseLabel returns the label of samples that are subtracted.
func (m *Merger) baseLabel() int32 {
	parts := [labelParts]int32{labelKey: m.newString([]byte(BaseLabel)), labelText: m.newString([]byte("true")) + 1}
	return m.labels.Index(parts[:])
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge

import (
	"slices"
	"unicode/utf8"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// writing numbers what the sum reaches, and writes it.
type writing struct {
	*Merger
	out []byte
	// The ids of entries, 0 for those that are not reached.
	locationIDs, functionIDs, mappingIDs []uint32
	// stringIDs are the indices of strings, and stringList the table.
	stringIDs  []uint32
	stringList []int32
	// emptyText is the index of a second empty string: 0 would say that a label has no text.
	emptyText uint32
}

// Append appends the sum, not compressed, to dst. The same pprofs in the same order make the same bytes.
func (m *Merger) Append(dst []byte) []byte {
	dst = slices.Grow(dst, int(m.OutputBytes()))
	sizes := m.dict.Len()
	w := &writing{
		Merger:      m,
		out:         dst,
		locationIDs: make([]uint32, sizes.Locations),
		functionIDs: make([]uint32, sizes.Functions),
		mappingIDs:  make([]uint32, len(m.mappings)),
		stringIDs:   make([]uint32, sizes.Strings),
		stringList:  []int32{0},
	}
	for _, column := range m.header.order {
		w.out = pprofwire.AppendSampleType(w.out, w.valueType(m.header.types[column]))
	}
	w.numberEntries()
	w.writeSamples()
	w.writeMappings()
	w.writeLocations()
	w.writeFunctions()
	w.writeHeader()
	for _, s := range w.stringList {
		w.out = pprofwire.AppendString(w.out, w.shortened(m.dict.StringAt(s)))
	}
	return w.out
}

// shortened returns a string of at most cut bytes, if there is such a bound.
func (w *writing) shortened(s string) string {
	if w.cut == 0 || len(s) <= w.cut {
		return s
	}
	const mark = "…"
	end := w.cut - len(mark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

// valuesOf returns the values of a row in the order of the types, in the memory of kept. None is one of zeros only: sums may be 0.
func (w *writing) valuesOf(row int, kept []int64) []int64 {
	kept = kept[:0]
	some := int64(0)
	values := w.values[row*w.header.stride:][:w.header.stride]
	for _, column := range w.header.order {
		kept = append(kept, values[column])
		some |= values[column]
	}
	if some == 0 {
		return kept[:0]
	}
	return kept
}

// numberEntries gives ids to all that samples reach, in the order of their first use.
func (w *writing) numberEntries() {
	var values []int64
	locations, functions := uint32(0), uint32(0)
	for row := range w.rows.Len() {
		if values = w.valuesOf(row, values); len(values) == 0 {
			continue
		}
		id, _ := w.rows.At(row)
		for _, location := range w.dict.StackAt(id.Stack) {
			if w.locationIDs[location] != 0 {
				continue
			}
			locations++
			w.locationIDs[location] = locations
			for _, line := range w.dict.LinesAt(location) {
				if line.Function != 0 && w.functionIDs[line.Function-1] == 0 {
					functions++
					w.functionIDs[line.Function-1] = functions
				}
			}
			if l, _ := w.dict.LocationAt(location); l.Mapping != 0 {
				w.mappingIDs[l.Mapping-1] = 1
			}
		}
	}
	// By convention the first mapping is the main binary, so these keep their order.
	mappings := uint32(0)
	for i, reached := range w.mappingIDs {
		if reached != 0 || i == 0 {
			mappings++
			w.mappingIDs[i] = mappings
		}
	}
}

func (w *writing) writeSamples() {
	var values []int64
	var ids, labels []byte
	for row := range w.rows.Len() {
		if values = w.valuesOf(row, values); len(values) == 0 {
			continue
		}
		id, labelList := w.rows.At(row)
		ids, labels = ids[:0], labels[:0]
		for _, location := range w.dict.StackAt(id.Stack) {
			ids = pprofwire.AppendID(ids, w.locationIDs[location])
		}
		for _, label := range labelList {
			labels = pprofwire.AppendLabel(labels, w.label(label))
		}
		w.out = pprofwire.AppendSample(w.out, ids, values, labels)
	}
}

func (w *writing) label(index int32) pprofwire.Label {
	parts := w.labels.At(index)
	l := pprofwire.Label{
		Key:     w.string(parts[labelKey]),
		NumUnit: w.string(parts[labelUnit]),
		Num:     int64(parts[labelNumberHigh])<<32 | int64(uint32(parts[labelNumberLow])),
	}
	if text := parts[labelText]; text == 1 {
		l.Str = w.emptyString()
	} else if text > 1 {
		l.Str = w.string(text - 1)
	}
	return l
}

func (w *writing) writeMappings() {
	for i, mapping := range w.mappings {
		if w.mappingIDs[i] == 0 {
			continue
		}
		mapping.ID = uint64(w.mappingIDs[i])
		mapping.Filename, mapping.BuildID = w.string(int32(mapping.Filename)), w.string(int32(mapping.BuildID))
		w.out = pprofwire.AppendMapping(w.out, mapping)
	}
}

// inOrder returns the entries that have an id, in the order of the ids.
func inOrder(ids []uint32) []int32 {
	entries := make([]int32, slices.Max(ids))
	for entry, id := range ids {
		if id != 0 {
			entries[id-1] = int32(entry)
		}
	}
	return entries
}

func (w *writing) writeLocations() {
	var lines []pprofwire.Line
	for i, entry := range inOrder(w.locationIDs) {
		from, attributes := w.dict.LocationAt(entry)
		l := pprofwire.Location{ID: uint64(i + 1), Address: from.Address, IsFolded: len(attributes) > 0}
		if from.Mapping != 0 {
			l.MappingID = uint64(w.mappingIDs[from.Mapping-1])
		}
		lines = lines[:0]
		for _, line := range w.dict.LinesAt(entry) {
			lines = append(lines, w.line(line))
		}
		w.out = pprofwire.AppendLocation(w.out, l, lines)
	}
}

func (w *writing) line(from dictionary.Line) pprofwire.Line {
	line := pprofwire.Line{Line: from.Line, Column: from.Column}
	if from.Function != 0 {
		line.FunctionID = uint64(w.functionIDs[from.Function-1])
	}
	return line
}

func (w *writing) writeFunctions() {
	for i, entry := range inOrder(w.functionIDs) {
		f := w.dict.FunctionAt(entry)
		w.out = pprofwire.AppendFunction(w.out, pprofwire.Function{
			ID:         uint64(i + 1),
			Name:       w.string(f.Name),
			SystemName: w.string(f.SystemName),
			Filename:   w.string(f.Filename),
			StartLine:  f.StartLine,
		})
	}
}

func (w *writing) writeHeader() {
	h := &w.header
	if h.hasPeriodType {
		w.out = pprofwire.AppendPeriodType(w.out, w.valueType(h.periodType))
	}
	header := pprofwire.Header{
		DropFrames:        w.string(h.dropFrames),
		KeepFrames:        w.string(h.keepFrames),
		TimeNanos:         h.time,
		DurationNanos:     h.duration,
		Period:            h.period,
		DocURL:            w.string(h.docURL),
		DefaultSampleType: w.string(h.defaultType),
	}
	for _, c := range h.comments {
		header.Comments = append(header.Comments, w.string(c))
	}
	w.out = pprofwire.AppendHeader(w.out, header)
}

func (w *writing) valueType(t valueType) pprofwire.ValueType {
	return pprofwire.ValueType{Type: w.string(t.name), Unit: w.string(t.unit)}
}

// string returns the index of a string in the string table, where 0 is the empty one.
func (w *writing) string(entry int32) uint32 {
	if entry != 0 && w.stringIDs[entry] == 0 {
		w.stringIDs[entry] = uint32(len(w.stringList))
		w.stringList = append(w.stringList, entry)
	}
	return w.stringIDs[entry]
}

func (w *writing) emptyString() uint32 {
	if w.emptyText == 0 {
		w.emptyText = uint32(len(w.stringList))
		w.stringList = append(w.stringList, 0)
	}
	return w.emptyText
}

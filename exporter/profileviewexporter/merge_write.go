// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"math/bits"

	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// pprof returns the merged profiles as an uncompressed pprof.
func (m *merger) pprof() ([]byte, error) {
	return m.write(upTo(len(m.samples.Rows)), upTo(len(m.types)))
}

// write returns a pprof with the samples and the sample types at some positions.
func (m *merger) write(order, columns []int) ([]byte, error) {
	w := writer{merger: m, order: order, columns: columns}
	header, period := w.header(), w.valueType(m.head.PeriodType)
	types := make([]pprofwire.ValueType, len(columns))
	for i, column := range columns {
		types[i] = w.valueType(m.types[column])
		if m.types[column].Name == m.head.DefaultType {
			header.DefaultSampleType = types[i].Type
		}
	}
	if err := w.measure(); err != nil {
		return nil, err
	}
	for _, t := range types {
		w.out = pprofwire.AppendSampleType(w.out, t)
	}
	w.writeSamples()
	w.writeSymbols()
	w.out = pprofwire.AppendHeader(w.out, header)
	if period != (pprofwire.ValueType{}) {
		w.out = pprofwire.AppendPeriodType(w.out, period)
	}
	return w.out, nil
}

// writer writes a merger. The ID of an entry is its index.
type writer struct {
	*merger
	order, columns []int
	out            []byte
	// used are the stacks of samples and their callers.
	used []bool
}

func (w *writer) text(s string) uint32 { return w.table.AddString([]byte(s), w.work) }

func (w *writer) valueType(t pprof.SampleType) pprofwire.ValueType {
	return pprofwire.ValueType{Type: w.text(t.Name), Unit: w.text(t.Unit)}
}

func (w *writer) header() pprofwire.Header {
	h := pprofwire.Header{
		DropFrames: w.text(w.head.DropFrames), KeepFrames: w.text(w.head.KeepFrames), DocURL: w.text(w.head.DocURL),
		TimeNanos: w.begin, DurationNanos: w.duration, Period: w.head.Period,
	}
	for _, c := range w.head.Comments {
		h.Comments = append(h.Comments, w.text(c))
	}
	return h
}

// measure allocates the memory of the pprof.
func (w *writer) measure() error {
	const entryBytes, lineBytes, valueBytes = 96, 32, 10 // at most
	t := w.table
	rows := len(t.Stacks.Rows)
	lists := int64(rows + 4*(rows+len(t.Labels.Rows)+len(t.Lines.Rows)))
	if err := w.work.Need(lists); err != nil {
		return err
	}
	w.used = make([]bool, rows)
	depths := lengths(rows, func(row int) uint32 { return t.Stacks.Rows[row].Caller })
	labels := lengths(len(t.Labels.Rows), func(row int) uint32 { return t.Labels.Rows[row].Next })
	lines := lengths(len(t.Lines.Rows), func(row int) uint32 { return t.Lines.Rows[row].Next })
	idBytes := int64(bits.Len(uint(len(t.Locations.Rows)))/7 + 1)
	size := int64(entryBytes * (1 + len(t.Functions.Rows) + len(t.Mappings.Rows) + len(t.Locations.Rows) + len(w.types) + 1))
	for _, l := range t.Locations.Rows { // They can share lines.
		size += lineBytes * int64(lines[l.Lines])
	}
	for _, s := range t.Strings.Rows {
		size += int64(len(s)) + valueBytes
	}
	for _, i := range w.order {
		s := w.samples.Rows[i]
		size += entryBytes/4 + idBytes*int64(depths[s.stack]) + int64(valueBytes*len(w.columns)) + entryBytes/2*int64(labels[s.labels])
	}
	if err := w.work.Need(lists + 4*int64(rows) + 2*size); err != nil { // The caller compresses the pprof.
		return err
	}
	w.out = make([]byte, 0, size)
	return nil
}

// lengths returns the lengths of the lists that begin at each of n rows. next returns the row after one, which is a smaller one, 0 for none.
func lengths(n int, next func(row int) uint32) []uint32 {
	all := make([]uint32, n)
	for row := 1; row < n; row++ {
		all[row] = all[next(row)] + 1
	}
	return all
}

func (w *writer) writeSamples() {
	var ids, labels []byte
	values := make([]int64, len(w.columns))
	for _, i := range w.order {
		s := w.samples.Rows[i]
		ids, labels = ids[:0], labels[:0]
		for at := s.stack; at != 0; at = w.table.Stacks.Rows[at].Caller {
			ids = pprofwire.AppendID(ids, w.table.Stacks.Rows[at].Location)
			w.used[at] = true
		}
		for at := s.labels; at != 0; at = w.table.Labels.Rows[at].Next {
			l := w.table.Labels.Rows[at]
			labels = pprofwire.AppendLabel(labels, pprofwire.Label{Key: l.Key, Str: l.Text, NumUnit: l.Unit, Num: l.Number})
		}
		for j, column := range w.columns {
			values[j] = w.values[column][i]
		}
		w.out = pprofwire.AppendSample(w.out, ids, values, labels)
	}
}

// writeSymbols writes the locations of used stacks, and all else that these need.
func (w *writer) writeSymbols() {
	t := w.table
	locations, mappings, functions := make([]bool, len(t.Locations.Rows)), make([]bool, len(t.Mappings.Rows)), make([]bool, len(t.Functions.Rows))
	for i, used := range w.used {
		if used {
			locations[t.Stacks.Rows[i].Location] = true
		}
	}
	// Every line of a pprof has a function. One without any name has no row.
	nameless := pprofwire.Function{ID: uint64(len(functions))}
	var lines []pprofwire.Line
	for i, used := range locations {
		if !used {
			continue
		}
		l := t.Locations.Rows[i]
		lines = lines[:0]
		for at := l.Lines; at != 0; at = t.Lines.Rows[at].Next {
			row := t.Lines.Rows[at]
			id := uint64(row.Function)
			if id == 0 {
				id = nameless.ID
			}
			lines = append(lines, pprofwire.Line{FunctionID: id, Line: row.Line, Column: row.Column})
			functions[row.Function] = true
		}
		mappings[l.Mapping] = true
		w.out = pprofwire.AppendLocation(w.out, pprofwire.Location{
			ID: uint64(i), MappingID: uint64(l.Mapping), Address: l.Address, IsFolded: l.IsFolded,
		}, lines)
	}
	for i, m := range t.Mappings.Rows {
		if i == 1 || i > 0 && mappings[i] { // The first is the program, used or not.
			w.out = pprofwire.AppendMapping(w.out, pprofwire.Mapping{
				ID: uint64(i), Start: m.Start, Limit: m.Limit, Offset: m.Offset, Filename: m.File, BuildID: m.BuildID,
				HasFunctions: m.Has.Functions, HasFilenames: m.Has.Files, HasLineNumbers: m.Has.LineNumbers, HasInlineFrames: m.Has.InlineFrames,
			})
		}
	}
	if functions[0] {
		w.out = pprofwire.AppendFunction(w.out, nameless)
	}
	for i, f := range t.Functions.Rows {
		if i > 0 && functions[i] {
			w.out = pprofwire.AppendFunction(w.out, pprofwire.Function{
				ID: uint64(i), Name: f.Name, SystemName: f.SystemName, Filename: f.File, StartLine: f.StartLine,
			})
		}
	}
	for _, s := range t.Strings.Rows {
		w.out = pprofwire.AppendString(w.out, s)
	}
}

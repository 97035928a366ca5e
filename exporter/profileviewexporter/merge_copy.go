// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"slices"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
)

// copier copies the symbols that samples need to the table of the result.
type copier struct {
	*merger
	from                                                           *store.Table
	strings, functions, mappings, lines, locations, stacks, labels copied
	// path is the part of a stack that is being copied.
	path []uint32
}

// copied are the indices of the copies of rows plus 1, 0 for rows that are not copied yet.
type copied []uint32

// of returns the index of the copy of a row, and makes the copy if there is none. Row 0 is the same in all tables.
func (c copied) of(row uint32, add func() uint32) uint32 {
	if row == 0 {
		return 0
	}
	if c[row] == 0 {
		c[row] = add() + 1
	}
	return c[row] - 1
}

// addPart merges a part of a selection.
func (m *merger) addPart(of *selectedPart) error {
	from := of.table
	bytes := 4 * int64(len(from.Strings.Rows)+len(from.Functions.Rows)+len(from.Mappings.Rows)+len(from.Lines.Rows)+
		len(from.Locations.Rows)+len(from.Stacks.Rows)+len(from.Labels.Rows))
	if err := m.work.Use(bytes); err != nil {
		return err
	}
	defer func() { m.work.Set(m.work.Used() - bytes) }() // of the indices
	p := copier{
		merger: m, from: from,
		strings: make(copied, len(from.Strings.Rows)), functions: make(copied, len(from.Functions.Rows)),
		mappings: make(copied, len(from.Mappings.Rows)), lines: make(copied, len(from.Lines.Rows)),
		locations: make(copied, len(from.Locations.Rows)), stacks: make(copied, len(from.Stacks.Rows)),
		labels: make(copied, len(from.Labels.Rows)),
	}
	for row := range from.Mappings.Rows { // In their order: the first is the program.
		p.mapping(uint32(row))
	}
	for i := range of.profiles {
		if err := p.work.Continue(); err != nil {
			return err
		}
		if err := p.profile(&of.profiles[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *copier) profile(from *selectedProfile) error {
	if len(from.columns) == 0 {
		return nil
	}
	columns := make([]int, len(from.columns))
	for i, column := range from.columns {
		columns[i] = p.columns[from.Columns[column].SampleType]
	}
	for s := range from.samples {
		at, err := p.sample(s.Stack, s.Labels)
		if err != nil {
			return err
		}
		for i, column := range from.columns {
			p.values[columns[i]][at] += s.Values[column]
		}
	}
	return nil
}

// sample returns the position of a sample in the result.
func (p *copier) sample(stack, labels uint32) (int, error) {
	s := mergedSample{stack: p.stack(stack)}
	if p.leafFrames == 0 {
		s.labels = p.label(labels)
	}
	before := len(p.samples.Rows)
	at := int(p.samples.Add(s, p.work))
	if at == before {
		for i := range p.values {
			p.values[i] = store.Append(p.values[i], 0, p.work)
		}
	}
	return at, p.work.Err()
}

// stack copies a stack, from its root or from where it is copied already.
func (p *copier) stack(stack uint32) (copied uint32) {
	p.path = p.path[:0]
	rows := p.from.Stacks.Rows
	at := stack
	for ; at != 0 && p.stacks[at] == 0 && (p.leafFrames == 0 || len(p.path) < p.leafFrames); at = rows[at].Caller {
		p.path = append(p.path, at)
	}
	if at != 0 && p.leafFrames == 0 {
		copied = p.stacks[at] - 1
	}
	for _, row := range slices.Backward(p.path) {
		copied = p.table.Stacks.Add(store.Stack{Caller: copied, Location: p.location(rows[row].Location)}, p.work)
		if p.leafFrames == 0 {
			p.stacks[row] = copied + 1
		}
	}
	return copied
}

func (p *copier) text(row uint32) uint32 {
	return p.strings.of(row, func() uint32 { return p.table.Strings.Add(p.from.Strings.Rows[row], p.work) })
}

func (p *copier) location(row uint32) uint32 {
	return p.locations.of(row, func() uint32 {
		l := p.from.Locations.Rows[row]
		l.Mapping = p.mapping(l.Mapping)
		l.Lines = p.line(l.Lines)
		return p.table.Locations.Add(l, p.work)
	})
}

func (p *copier) mapping(row uint32) uint32 {
	return p.mappings.of(row, func() uint32 {
		m := p.from.Mappings.Rows[row]
		m.File, m.BuildID = p.text(m.File), p.text(m.BuildID)
		return p.table.Mappings.Add(m, p.work)
	})
}

// line copies a line and the lines after it, the last one first.
func (p *copier) line(first uint32) uint32 {
	rows, copied := p.lines.missing(first, func(row uint32) uint32 { return p.from.Lines.Rows[row].Next })
	for _, row := range slices.Backward(rows) {
		copied = p.lines.of(row, func() uint32 {
			l := p.from.Lines.Rows[row]
			l.Next = copied
			l.Function = p.functions.of(l.Function, func() uint32 {
				f := p.from.Functions.Rows[l.Function]
				f.Name, f.SystemName, f.File = p.text(f.Name), p.text(f.SystemName), p.text(f.File)
				return p.table.Functions.Add(f, p.work)
			})
			return p.table.Lines.Add(l, p.work)
		})
	}
	return copied
}

// label copies a label and the labels after it, the last one first.
func (p *copier) label(first uint32) uint32 {
	rows, copied := p.labels.missing(first, func(row uint32) uint32 { return p.from.Labels.Rows[row].Next })
	for _, row := range slices.Backward(rows) {
		copied = p.labels.of(row, func() uint32 {
			l := p.from.Labels.Rows[row]
			l.Key, l.Text, l.Unit, l.Next = p.text(l.Key), p.text(l.Text), p.text(l.Unit), copied
			return p.table.Labels.Add(l, p.work)
		})
	}
	return copied
}

// missing returns a row and the rows after it, up to one that is copied, and its copy. next returns the row after one, 0 for none.
func (c copied) missing(first uint32, next func(row uint32) uint32) (rows []uint32, rest uint32) {
	for first != 0 && c[first] == 0 {
		rows = append(rows, first)
		first = next(first)
	}
	return rows, max(c[first], 1) - 1
}

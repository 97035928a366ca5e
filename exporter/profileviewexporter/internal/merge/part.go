// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"slices"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/symbols"
)

// part copies the symbols that samples need to the table of the result.
type part struct {
	*Merger
	from                                                           *symbols.Table
	strings, functions, mappings, lines, locations, stacks, labels copied
	// bytes is the memory of the indices. path is the part of a stack that is being copied.
	bytes int64
	path  []uint32
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

func (m *Merger) addPart(of *query.Part) error {
	from := of.Table
	p := part{Merger: m, from: from}
	for _, indices := range []struct {
		of   *copied
		rows int
	}{
		{&p.strings, len(from.Strings.Rows)},
		{&p.functions, len(from.Functions.Rows)},
		{&p.mappings, len(from.Mappings.Rows)},
		{&p.lines, len(from.Lines.Rows)},
		{&p.locations, len(from.Locations.Rows)},
		{&p.stacks, len(from.Stacks.Rows)},
		{&p.labels, len(from.Labels.Rows)},
	} {
		p.bytes += 4 * int64(indices.rows)
		if err := m.work.Need(m.table.Bytes() + p.bytes); err != nil {
			return err
		}
		*indices.of = make(copied, indices.rows)
	}
	if err := p.grow(0); err != nil {
		return err
	}
	for row := range from.Mappings.Rows { // In their order: the first is the program.
		p.mapping(uint32(row))
	}
	for i := range of.Profiles {
		if err := p.work.Continue(); err != nil {
			return err
		}
		if err := p.profile(&of.Profiles[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *part) profile(c *query.Chosen) error {
	if len(c.Columns) == 0 {
		return nil
	}
	columns := make([]int, len(c.Columns))
	for i, column := range c.Columns {
		columns[i] = p.column(c.Profile.Columns[column].SampleType)
	}
	for s := range c.Samples.All() {
		if c.Keeps != nil && !c.Keeps(s.Labels) {
			continue
		}
		at, err := p.sample(s.Stack, s.Labels)
		if err != nil {
			return err
		}
		for i, column := range c.Columns {
			p.values[columns[i]][at] += s.Values[column]
		}
	}
	return nil
}

// grow counts memory for one more sample with a number of new stacks. Of all other symbols, there are not more than in the part.
func (p *part) grow(stacks int) error {
	const valueBytes = 3 * 8 // the old memory and the new of the double size
	to, from := p.table, p.from
	return p.work.Need(p.bytes + p.samples.MostBytes(1) + valueBytes*int64(len(p.types)*(len(p.samples.Rows)+1)) + to.Stacks.MostBytes(stacks) +
		to.Strings.MostBytes(len(from.Strings.Rows)) + to.Functions.MostBytes(len(from.Functions.Rows)) +
		to.Mappings.MostBytes(len(from.Mappings.Rows)) + to.Lines.MostBytes(len(from.Lines.Rows)) +
		to.Locations.MostBytes(len(from.Locations.Rows)) + to.Labels.MostBytes(len(from.Labels.Rows)))
}

// sample returns the position of a sample in the result.
func (p *part) sample(stack, labels uint32) (at int, err error) {
	s := sample{}
	if p.LeafFrames == 0 {
		s.labels = p.label(labels)
	}
	if s.stack, err = p.stack(stack); err != nil {
		return 0, err
	}
	if !p.samples.Holds(1) {
		if err := p.grow(0); err != nil {
			return 0, err
		}
	}
	at = int(p.samples.Add(s))
	for i := range p.values {
		if at == len(p.values[i]) {
			p.values[i] = append(p.values[i], 0)
		}
	}
	return at, nil
}

// stack copies a stack, from its root or from where it is copied already.
func (p *part) stack(stack uint32) (uint32, error) {
	p.path = p.path[:0]
	rows := p.from.Stacks.Rows
	at := stack
	for ; at != 0 && p.stacks[at] == 0 && (p.LeafFrames == 0 || len(p.path) < p.LeafFrames); at = rows[at].Caller {
		p.path = append(p.path, at)
	}
	if !p.table.Stacks.Holds(len(p.path)) {
		if err := p.grow(len(p.path)); err != nil {
			return 0, err
		}
	}
	last := uint32(0)
	if at != 0 && p.LeafFrames == 0 {
		last = p.stacks[at] - 1
	}
	for _, row := range slices.Backward(p.path) {
		last = p.table.Stacks.Add(symbols.Stack{Caller: last, Location: p.location(rows[row].Location)})
		if p.LeafFrames == 0 {
			p.stacks[row] = last + 1
		}
	}
	return last, nil
}

func (p *part) text(row uint32) uint32 {
	return p.strings.of(row, func() uint32 { return p.table.Strings.Add(p.from.Strings.Rows[row]) })
}

func (p *part) location(row uint32) uint32 {
	return p.locations.of(row, func() uint32 {
		l := p.from.Locations.Rows[row]
		l.Mapping = p.mapping(l.Mapping)
		l.Lines = p.line(l.Lines)
		return p.table.Locations.Add(l)
	})
}

func (p *part) mapping(row uint32) uint32 {
	return p.mappings.of(row, func() uint32 {
		m := p.from.Mappings.Rows[row]
		m.File, m.BuildID = p.text(m.File), p.text(m.BuildID)
		return p.table.Mappings.Add(m)
	})
}

// line copies a line and the lines after it, the last one first.
func (p *part) line(first uint32) uint32 {
	var chain []uint32
	for row := first; row != 0; row = p.from.Lines.Rows[row].Next {
		chain = append(chain, row)
	}
	next := uint32(0)
	for _, row := range slices.Backward(chain) {
		next = p.lines.of(row, func() uint32 {
			l := p.from.Lines.Rows[row]
			l.Next = next
			l.Function = p.functions.of(l.Function, func() uint32 {
				f := p.from.Functions.Rows[l.Function]
				f.Name, f.SystemName, f.File = p.text(f.Name), p.text(f.SystemName), p.text(f.File)
				return p.table.Functions.Add(f)
			})
			return p.table.Lines.Add(l)
		})
	}
	return next
}

// label copies a label and the labels after it, the last one first.
func (p *part) label(first uint32) uint32 {
	if first == 0 || p.labels[first] != 0 {
		return p.labels.of(first, nil)
	}
	var chain []uint32
	for row := first; row != 0; row = p.from.Labels.Rows[row].Next {
		chain = append(chain, row)
	}
	next := uint32(0)
	for _, row := range slices.Backward(chain) {
		next = p.labels.of(row, func() uint32 {
			l := p.from.Labels.Rows[row]
			l.Key, l.Text, l.Unit, l.Next = p.text(l.Key), p.text(l.Text), p.text(l.Unit), next
			return p.table.Labels.Add(l)
		})
	}
	return next
}

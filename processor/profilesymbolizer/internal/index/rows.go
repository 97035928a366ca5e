// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"
)

// sequence is a part of the rows with ascending addresses, the last of which is its end.
type sequence struct{ begin, end int }

// Sequence adds the rows of a contiguous part of the code. Sequences may come in any order.
type Sequence struct {
	b     *Builder
	begin int
	// skipped: the sequence is of code that the linker removed, or its addresses do not ascend.
	skipped bool
}

// Sequence begins a sequence. The rows of one that did not end are dropped.
func (b *Builder) Sequence() Sequence {
	if n := len(b.sequences); n > 0 {
		b.rows = b.rows[:b.sequences[n-1].end]
	} else {
		b.rows = b.rows[:0]
	}
	return Sequence{b: b, begin: len(b.rows)}
}

// Row adds a row. Of several with one address the last one holds.
func (s *Sequence) Row(address uint64, place Place) {
	b := s.b
	if s.skipped || len(b.rows) == s.begin && b.CodeEnd(address) == 0 {
		s.skipped = true
		return
	}
	if address < b.base || address-b.base >= 1<<32 {
		s.skipped = true
		return
	}
	r := row{uint32(address - b.base), place.File, place.Line, place.Column}
	if n := len(b.rows); n > s.begin {
		switch last := &b.rows[n-1]; {
		case last.address > r.address:
			s.skipped = true
			return
		case last.address == r.address:
			*last = r
			return
		case last.file == r.file && last.line == r.line && last.column == r.column:
			return
		}
	}
	if b.use(rowSize) {
		b.rows = append(b.rows, r)
	}
}

// End ends the sequence at an address.
func (s *Sequence) End(address uint64) {
	s.Row(address, Place{})
	b := s.b
	if n := len(b.rows); !s.skipped && n-s.begin > 1 && b.use(16) {
		b.sequences = append(b.sequences, sequence{s.begin, n})
	}
	*s = b.Sequence()
}

// sortedRows returns the rows of all sequences by address. Of sequences that overlap, the first one holds.
func (b *Builder) sortedRows() ([]row, error) {
	slices.SortStableFunc(b.sequences, func(x, y sequence) int { return cmp.Compare(b.rows[x.begin].address, b.rows[y.begin].address) })
	if err := b.memory.Use(rowSize * int64(len(b.rows))); err != nil {
		return nil, err
	}
	sorted := make([]row, 0, len(b.rows))
	for _, s := range b.sequences {
		part := b.rows[s.begin:s.end]
		if n := len(sorted); n > 0 {
			switch last := sorted[n-1]; {
			case part[0].address < last.address:
				continue
			case part[0].address == last.address: // The end of the one is the begin of the next.
				sorted = sorted[:n-1]
			}
		}
		sorted = append(sorted, part...)
	}
	return sorted, nil
}

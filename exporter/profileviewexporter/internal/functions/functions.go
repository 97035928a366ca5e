// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package functions sums up a profile by its functions.
package functions // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/functions"

import (
	"iter"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Sum is what samples with a function add up to. Of a difference, Before is the sum of what is compared with.
type Sum struct{ Now, Before int64 }

// Change is the difference.
func (s Sum) Change() int64 { return s.Now - s.Before }

func (s *Sum) add(other Sum) {
	s.Now += other.Now
	s.Before += other.Before
}

// Row is a function.
type Row struct {
	Name string
	// Flat is of the samples that have the function at their leaf, Cum of all samples that have it.
	Flat, Cum Sum
}

// table collects rows.
type table struct {
	index  int
	rows   []Row
	byName map[string]int
	// byFunction has the rows of functions, of which several may have one name.
	byFunction map[*profile.Function]int
	// last is the number of the last sample that counted for each row.
	last []int
}

func newTable(index int) *table {
	return &table{index: index, byName: map[string]int{}, byFunction: map[*profile.Function]int{}}
}

// row returns the position of the row of a name.
func (t *table) row(name string) int {
	at, known := t.byName[name]
	if !known {
		at = len(t.rows)
		t.byName[name] = at
		t.rows, t.last = append(t.rows, Row{Name: name}), append(t.last, -1)
	}
	return at
}

// rowOf returns the position of the row of a function, -1 for none.
func (t *table) rowOf(f *profile.Function) int {
	if f == nil {
		return -1
	}
	at, known := t.byFunction[f]
	if !known {
		at = t.row(f.Name)
		t.byFunction[f] = at
	}
	return at
}

// count adds a sample to the row at a position, once.
func (t *table) count(at, sample int, value Sum) {
	if t.last[at] != sample {
		t.last[at] = sample
		t.rows[at].Cum.add(value)
	}
}

// sorted returns the rows by name.
func (t *table) sorted() []Row {
	slices.SortFunc(t.rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	return t.rows
}

// valueOf is the value of a sample at an index of the sample types.
func valueOf(s *profile.Sample, index int) Sum {
	if s.DiffBaseSample() {
		return Sum{Before: -s.Value[index]}
	}
	return Sum{Now: s.Value[index]}
}

// frames are the functions of a sample from the leaf to the root.
func frames(s *profile.Sample) iter.Seq[*profile.Function] {
	return func(yield func(*profile.Function) bool) {
		for _, l := range s.Location {
			for i := range l.Line {
				if !yield(l.Line[i].Function) {
					return
				}
			}
		}
	}
}

// Table returns all functions of a profile by name, with their sums at an index of the sample types, and the sum of all samples.
func Table(p *profile.Profile, index int) (rows []Row, total Sum) {
	t := newTable(index)
	for i, s := range p.Sample {
		value := valueOf(s, index)
		total.add(value)
		leaf := true
		for f := range frames(s) {
			at := t.rowOf(f)
			if at < 0 {
				continue
			}
			if leaf {
				t.rows[at].Flat.add(value)
				leaf = false
			}
			t.count(at, i, value)
		}
	}
	return t.sorted(), total
}

// The rows of callers and callees that are no functions.
const (
	NoCaller = "(root)"
	NoCallee = "(self)"
)

// Neighbours returns a function with those that call it and that it calls, by name. Cum of a neighbour is of the samples
// in which it is beside the function. found is false where no sample has the function.
func Neighbours(p *profile.Profile, index int, name string) (own Row, callers, callees []Row, found bool) {
	above, below, table := newTable(index), newTable(index), newTable(index)
	at := table.row(name)
	for i, s := range p.Sample {
		value := valueOf(s, index)
		callee := ""
		isLeaf, inside := true, false
		for f := range frames(s) {
			if f == nil {
				continue
			}
			if inside { // f calls the function
				above.count(above.row(f.Name), i, value)
			}
			if inside = f.Name == name; inside {
				found = true
				table.count(at, i, value)
				if isLeaf {
					table.rows[at].Flat.add(value)
					callee = NoCallee
				}
				below.count(below.row(callee), i, value)
			}
			callee, isLeaf = f.Name, false
		}
		if inside {
			above.count(above.row(NoCaller), i, value)
		}
	}
	return table.rows[at], above.sorted(), below.sorted(), found
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package functions sums the samples of a profile by function.
package functions // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/functions"

import (
	"iter"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Sum is the total of the samples of a function. For a difference, Before is the total of the profile to compare with.
type Sum struct{ Now, Before int64 }

// Change returns the difference.
func (s Sum) Change() int64 { return s.Now - s.Before }

func (s *Sum) add(other Sum) {
	s.Now += other.Now
	s.Before += other.Before
}

// Row is a function with its totals.
type Row struct {
	Name string
	// Flat counts the samples with the function at their leaf, Cum all samples with the function.
	Flat, Cum Sum
}

// table collects rows.
type table struct {
	index  int
	rows   []Row
	byName map[string]int
	// byFunction has the row of each function. Several functions can have one name and share a row.
	byFunction map[*profile.Function]int
	// last is the number of the last sample that was counted for each row.
	last []int
}

func newTable(index int) *table {
	return &table{index: index, byName: map[string]int{}, byFunction: map[*profile.Function]int{}}
}

// row returns the index of the row of a name.
func (t *table) row(name string) int {
	at, known := t.byName[name]
	if !known {
		at = len(t.rows)
		t.byName[name] = at
		t.rows, t.last = append(t.rows, Row{Name: name}), append(t.last, -1)
	}
	return at
}

// rowOf returns the index of the row of a function, or -1 for none.
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

// count adds a sample to the row at an index, once.
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

// valueOf returns the value of a sample at an index of the sample types.
func valueOf(s *profile.Sample, index int) Sum {
	if s.DiffBaseSample() {
		return Sum{Before: -s.Value[index]}
	}
	return Sum{Now: s.Value[index]}
}

// frames returns the functions of a sample from the leaf to the root.
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

// Table returns all functions of a profile by name, with their totals at an index of the sample types, and the total of all
// samples.
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

// The names of the rows of callers and callees that are not functions.
const (
	NoCaller = "(root)"
	NoCallee = "(self)"
)

// Neighbours returns a function with its callers and callees, by name. Cum of a neighbour counts the samples in which it is
// next to the function. found is false if no sample has the function.
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
			if inside { // f is the caller
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

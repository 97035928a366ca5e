// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"hash/maphash"
	"math"
	"slices"
	"unsafe"
)

// Table holds what the samples of several profiles refer to, each string, function, location, stack and set of labels once. Row 0 of each set
// means that there is none. All fields that are numbers of 32 bits are indices of rows.
//
// A table only grows. A copy of a table, made while nothing is added, can be read while more is added.
type Table struct {
	Strings   Set[string]
	Functions Set[Function]
	Mappings  Set[Mapping]
	Lines     Set[Line]
	Locations Set[Location]
	Stacks    Set[Stack]
	Labels    Set[Label]

	// stringBytes is the length of all strings.
	stringBytes int64
}

// Function is a function of pprof.
type Function struct {
	Name, SystemName, File uint32
	StartLine              int64
}

// Mapping is a mapping of pprof.
type Mapping struct {
	Start, Limit, Offset uint64
	File, BuildID        uint32
	Has                  Has
}

// Has says which symbols a mapping has.
type Has struct{ Functions, Files, LineNumbers, InlineFrames bool }

// Line is a line of a location, and the lines after it. The first line of a location is the innermost call.
type Line struct {
	Function, Next uint32
	Line, Column   int64
}

// Location is a location of pprof. Lines is the first of its lines, 0 for none.
type Location struct {
	Mapping, Lines uint32
	Address        uint64
	IsFolded       bool
}

// Stack is a location and the stack of its callers. Stack 0 is empty. The callers of a stack have a smaller index.
type Stack struct{ Caller, Location uint32 }

// Label is a label of a sample, and the labels after it. Label 0 is none.
type Label struct {
	Key, Text, Unit, Next uint32
	Number                int64
}

// noRow makes row 0 of locations and stacks differ from all other rows. No row has so large an index.
const noRow = math.MaxUint32

// NewTable returns a table with row 0 of each set.
func NewTable() *Table {
	t := &Table{}
	t.Strings.Add("")
	t.Functions.Add(Function{})
	t.Mappings.Add(Mapping{})
	t.Lines.Add(Line{})
	t.Locations.Add(Location{Mapping: noRow})
	t.Stacks.Add(Stack{Caller: noRow})
	t.Labels.Add(Label{})
	return t
}

// Text returns a string.
func (t *Table) Text(index uint32) string { return t.Strings.Rows[index] }

// AddString returns the index of a text. The table has a copy of it.
func (t *Table) AddString(text []byte) uint32 {
	if len(text) == 0 {
		return 0
	}
	before := len(t.Strings.Rows)
	index := t.Strings.Add(unsafe.String(&text[0], len(text))) //nolint:gosec // only until the copy below
	if len(t.Strings.Rows) > before {
		t.Strings.Rows[index] = string(text) // in place of the bytes of the caller
		t.stringBytes += int64(len(text))
	}
	return index
}

// Bytes returns the memory of the table.
func (t *Table) Bytes() int64 {
	return t.stringBytes + t.Strings.Bytes() + t.Functions.Bytes() + t.Mappings.Bytes() + t.Lines.Bytes() + t.Locations.Bytes() +
		t.Stacks.Bytes() + t.Labels.Bytes()
}

// Lengths are the numbers of rows of all sets but the stacks.
type Lengths struct{ Strings, Functions, Mappings, Lines, Locations, Labels int }

// Sum returns the sum of all lengths.
func (l Lengths) Sum() int {
	return l.Strings + l.Functions + l.Mappings + l.Lines + l.Locations + l.Labels
}

// Lengths returns the numbers of rows.
func (t *Table) Lengths() Lengths {
	return Lengths{
		Strings: len(t.Strings.Rows), Functions: len(t.Functions.Rows), Mappings: len(t.Mappings.Rows), Lines: len(t.Lines.Rows),
		Locations: len(t.Locations.Rows), Labels: len(t.Labels.Rows),
	}
}

// MostBytes returns the most memory that the table needs while some rows are added, without the texts of new strings.
func (t *Table) MostBytes(stacks int, more Lengths) int64 {
	return t.stringBytes + t.Strings.MostBytes(more.Strings) + t.Functions.MostBytes(more.Functions) + t.Mappings.MostBytes(more.Mappings) +
		t.Lines.MostBytes(more.Lines) + t.Locations.MostBytes(more.Locations) + t.Stacks.MostBytes(stacks) + t.Labels.MostBytes(more.Labels)
}

// seed differs in each process, since the rows come from the network.
var seed = maphash.MakeSeed()

// Set holds each row once. A hash finds a row, and equality decides. The zero value is an empty set, whose first row gets index 0.
type Set[T comparable] struct {
	// Rows are all rows, in the order in which they were added. A row does not change.
	Rows []T
	// slots is a hash table of the indices of rows plus 1. 0 is a free slot. Its length is a power of two.
	slots []uint32
}

// leastSlots is the initial length of the hash table.
const leastSlots = 16

// Add returns the index of a row, and adds it if the set does not have it.
func (s *Set[T]) Add(row T) uint32 {
	if !s.hasSlots(1) {
		s.makeSlots(1)
	}
	at, index := s.find(row)
	if index == 0 {
		s.Rows = append(s.Rows, row)
		index = uint32(len(s.Rows))
		s.slots[at] = index
	}
	return index - 1
}

// find returns the slot of a row, and its content: 0 if the set does not have the row.
func (s *Set[T]) find(row T) (at uint64, index uint32) {
	mask := uint64(len(s.slots) - 1)
	for at = maphash.Comparable(seed, row) & mask; s.slots[at] != 0; at = (at + 1) & mask {
		if s.Rows[s.slots[at]-1] == row {
			break
		}
	}
	return at, s.slots[at]
}

// Grow makes place for n more rows.
func (s *Set[T]) Grow(n int) {
	s.Rows = slices.Grow(s.Rows, n)
	if !s.hasSlots(n) {
		s.makeSlots(n)
	}
}

func (s *Set[T]) hasSlots(n int) bool { return 4*(len(s.Rows)+n) <= 3*len(s.slots) }

// makeSlots makes a hash table for n more rows.
func (s *Set[T]) makeSlots(n int) {
	slots := leastSlots
	for 4*(len(s.Rows)+n) > 3*slots {
		slots *= 2
	}
	s.slots = make([]uint32, slots)
	for i, row := range s.Rows {
		at, _ := s.find(row)
		s.slots[at] = uint32(i + 1)
	}
}

// Bytes returns the memory of the set, without memory that rows point to.
func (s *Set[T]) Bytes() int64 { return int64(cap(s.Rows))*rowBytes[T]() + 4*int64(len(s.slots)) }

// MostBytes returns the most memory that the set needs while n rows are added.
func (s *Set[T]) MostBytes(n int) int64 {
	if s.Holds(n) {
		return s.Bytes()
	}
	// The old and the new memory are in use together. Rows grow to at most the double, and the hash table to at most 8/3 of the rows.
	return s.Bytes() + 2*int64(len(s.Rows)+n)*(rowBytes[T]()+6)
}

func rowBytes[T any]() int64 { return int64(unsafe.Sizeof(*new(T))) }

// Holds returns whether n more rows fit without more memory.
func (s *Set[T]) Holds(n int) bool {
	return len(s.Rows)+n <= cap(s.Rows) && s.hasSlots(n)
}

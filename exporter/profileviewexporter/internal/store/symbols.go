// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"hash/maphash"
	"math"
	"unsafe"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// Table holds what the samples of several profiles refer to, each string, function, location, stack and set of labels once. Row 0 of each set
// means that there is none. All fields that are numbers of 32 bits are indices of rows.
//
// A copy of a table, made while nothing is added, can be read while more is added, and while that is undone.
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

// noRow makes row 0 of lines, locations and stacks differ from all other rows. No row has so large an index.
const noRow = math.MaxUint32

// NewTable returns a table with row 0 of each set.
func NewTable() *Table {
	t := &Table{}
	t.Strings.Add("", nil)
	t.Functions.Add(Function{}, nil)
	t.Mappings.Add(Mapping{}, nil)
	t.Lines.Add(Line{Function: noRow}, nil)
	t.Locations.Add(Location{Mapping: noRow}, nil)
	t.Stacks.Add(Stack{Caller: noRow}, nil)
	t.Labels.Add(Label{}, nil)
	return t
}

// Text returns a string.
func (t *Table) Text(index uint32) string { return t.Strings.Rows[index] }

// AddString returns the index of a text, as [Set.Add] does. The table has a copy of it.
func (t *Table) AddString(text []byte, work *meter.Meter) uint32 {
	if len(text) == 0 {
		return 0
	}
	before := len(t.Strings.Rows)
	index := t.Strings.Add(unsafe.String(&text[0], len(text)), work) //nolint:gosec // only until the copy below
	if len(t.Strings.Rows) > before {
		_ = work.Use(int64(len(text)))       // The caller of Add looks at the error.
		t.Strings.Rows[index] = string(text) // in place of the bytes of the caller
		t.stringBytes += int64(len(text))
	}
	return index
}

// undo removes what was added since before was copied from the table.
func (t *Table) undo(before *Table) {
	t.Strings.undo(&before.Strings)
	t.Functions.undo(&before.Functions)
	t.Mappings.undo(&before.Mappings)
	t.Lines.undo(&before.Lines)
	t.Locations.undo(&before.Locations)
	t.Stacks.undo(&before.Stacks)
	t.Labels.undo(&before.Labels)
	t.stringBytes = before.stringBytes
}

// bytes returns the memory of the table.
func (t *Table) bytes() int64 {
	return t.stringBytes + t.Strings.bytes() + t.Functions.bytes() + t.Mappings.bytes() + t.Lines.bytes() + t.Locations.bytes() +
		t.Stacks.bytes() + t.Labels.bytes()
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

// Add returns the index of a row, and adds it if the set does not have it. work counts the memory. After an error of work, which the caller
// must look at, the index is wrong.
func (s *Set[T]) Add(row T, work *meter.Meter) uint32 {
	if 4*len(s.Rows) >= 3*len(s.slots) && !s.grow(work) {
		return 0
	}
	at, index := s.find(row)
	if index == 0 {
		before := len(s.Rows)
		if s.Rows = Append(s.Rows, row, work); len(s.Rows) == before {
			return 0
		}
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

// grow doubles the hash table. It returns false if there is no memory.
func (s *Set[T]) grow(work *meter.Meter) bool {
	slots := max(2*len(s.slots), leastSlots)
	if work.Need(4*int64(slots)) != nil {
		return false
	}
	_ = work.Use(4 * int64(slots-len(s.slots))) // Need has counted it.
	s.slots = make([]uint32, slots)
	for i, row := range s.Rows {
		at, _ := s.find(row)
		s.slots[at] = uint32(i + 1)
	}
	return true
}

// undo removes the rows that were added since before was copied from the set.
func (s *Set[T]) undo(before *Set[T]) {
	kept := len(before.Rows)
	s.slots = before.slots
	// The last one first: no search for another row goes on behind its slot. Those that did not fit have no slot.
	for i := min(len(s.Rows), len(s.slots)) - 1; i >= kept; i-- {
		at, _ := s.find(s.Rows[i])
		s.slots[at] = 0
	}
	clear(before.Rows[kept:min(len(s.Rows), cap(before.Rows))]) // Rows can refer to texts.
	s.Rows = before.Rows
}

// bytes returns the memory of the set, without memory that rows point to.
func (s *Set[T]) bytes() int64 { return int64(cap(s.Rows))*sizeOf[T]() + 4*int64(len(s.slots)) }

func sizeOf[T any]() int64 { return int64(unsafe.Sizeof(*new(T))) }

// Append appends to a list whose memory work counts. After an error of work, it returns the list as it is.
func Append[T any](list []T, one T, work *meter.Meter) []T {
	before := cap(list)
	if len(list) < before {
		return append(list, one)
	}
	if work.Need(int64(2*before+leastSlots)*sizeOf[T]()) != nil { // append makes at most the double
		return list
	}
	list = append(list, one)
	_ = work.Use(int64(cap(list)-before) * sizeOf[T]()) // Need has counted it.
	return list
}

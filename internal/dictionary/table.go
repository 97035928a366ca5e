// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package dictionary builds the dictionary of a profiles message: each string, function, mapping, location, stack,
// attribute and link once.
//
// A [Builder] takes values and returns their indices. Values with equal content are one entry. Hashes only find
// candidates; their seeds are random per process, since the values come from the network. Indices have the order of first
// use, entry 0 of each table is the zero value, and the same calls give the same indices. The time of a lookup is linear
// in the size of the value, and does not grow with the table.
//
// The tables are flat slices; [Builder.WriteTo] writes them as pdata. [Compact] removes repeated and unused entries from the
// dictionary of a message in place. A [Compactor] does the same in steps.
package dictionary // import "github.com/otelpprof/otelpprof/internal/dictionary"

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Table is one of the tables of a dictionary.
type Table int

// The tables.
const (
	Strings Table = iota
	Functions
	Mappings
	Locations
	Stacks
	Attributes
	Links
	// NumTables is the number of tables.
	NumTables
)

// TableNames name an entry of each table.
var TableNames = [NumTables]string{"string", "function", "mapping", "location", "stack", "attribute", "link"}

// topDown has each table before those to which its entries refer.
var topDown = [NumTables]Table{Stacks, Locations, Mappings, Functions, Attributes, Links, Strings}

// Lengths are the lengths of all tables.
type Lengths [NumTables]int

// LengthsOf returns the lengths of the tables of a dictionary.
func LengthsOf(d pprofile.ProfilesDictionary) Lengths {
	return Lengths{
		Strings:    d.StringTable().Len(),
		Functions:  d.FunctionTable().Len(),
		Mappings:   d.MappingTable().Len(),
		Locations:  d.LocationTable().Len(),
		Stacks:     d.StackTable().Len(),
		Attributes: d.AttributeTable().Len(),
		Links:      d.LinkTable().Len(),
	}
}

// IndexError is the error for an index that its table does not have.
type IndexError struct {
	Table string
	Index int32
	Len   int
}

func (e *IndexError) Error() string {
	return fmt.Sprintf("index %d of the %s table does not exist, it has %d entries", e.Index, e.Table, e.Len)
}

// anyTable has the operations of every table of a dictionary.
type anyTable interface {
	Len() int
	EnsureCapacity(n int)
	// setZero sets entry 0 to the zero value.
	setZero()
	// removeIf removes the entries for which remove returns true.
	removeIf(remove func(i int) bool)
	// moveTo appends all entries to the same table of another dictionary and removes them here. copyTo copies some
	// entries.
	moveTo(other anyTable)
	copyTo(other anyTable, entries []int32)
}

// tableOf returns a table of a dictionary.
func tableOf(d pprofile.ProfilesDictionary, t Table) anyTable {
	switch t {
	case Strings:
		return stringRows{d.StringTable()}
	case Functions:
		return rows[pprofile.Function, pprofile.FunctionSlice]{d.FunctionTable(), pprofile.NewFunction}
	case Mappings:
		return rows[pprofile.Mapping, pprofile.MappingSlice]{d.MappingTable(), pprofile.NewMapping}
	case Locations:
		return rows[pprofile.Location, pprofile.LocationSlice]{d.LocationTable(), pprofile.NewLocation}
	case Stacks:
		return rows[pprofile.Stack, pprofile.StackSlice]{d.StackTable(), pprofile.NewStack}
	case Attributes:
		return rows[pprofile.KeyValueAndUnit, pprofile.KeyValueAndUnitSlice]{d.AttributeTable(), pprofile.NewKeyValueAndUnit}
	case Links:
		return rows[pprofile.Link, pprofile.LinkSlice]{d.LinkTable(), pprofile.NewLink}
	}
	return nil
}

// EnsureCapacity makes room for these numbers of entries in the tables.
func EnsureCapacity(d pprofile.ProfilesDictionary, lengths Lengths) {
	for t := range NumTables {
		tableOf(d, t).EnsureCapacity(lengths[t])
	}
}

// MoveEntries appends the entries of all tables of src to those of dst, and removes them from src. It does not change
// their indices.
func MoveEntries(dst, src pprofile.ProfilesDictionary) {
	for t := range NumTables {
		tableOf(src, t).moveTo(tableOf(dst, t))
	}
}

// CopyEntries fills an empty table of dst with the zero value and some entries of src. It does not change their indices.
func CopyEntries(dst, src pprofile.ProfilesDictionary, t Table, entries []int32) {
	to := tableOf(dst, t)
	to.EnsureCapacity(len(entries) + 1)
	to.setZero()
	tableOf(src, t).copyTo(to, entries)
}

// stringRows is the table of strings.
type stringRows struct{ pcommon.StringSlice }

func (r stringRows) setZero() {
	if r.Len() == 0 {
		r.Append("")
	}
	r.SetAt(0, "")
}

func (r stringRows) removeIf(remove func(i int) bool) { r.RemoveIf(oneByOne[string](remove)) }

func (r stringRows) moveTo(other anyTable) { r.MoveAndAppendTo(other.(stringRows).StringSlice) }

func (r stringRows) copyTo(other anyTable, entries []int32) {
	to := other.(stringRows)
	for _, i := range entries {
		to.Append(r.At(int(i)))
	}
}

// slice has the methods that all tables of pdata have in common, except that of strings.
type slice[T, S any] interface {
	Len() int
	EnsureCapacity(n int)
	At(i int) T
	AppendEmpty() T
	RemoveIf(remove func(T) bool)
	MoveAndAppendTo(other S)
}

type entry[T any] interface {
	CopyTo(to T)
	MoveTo(to T)
}

// rows is a table of entries that are objects.
type rows[T entry[T], S slice[T, S]] struct {
	slice S
	zero  func() T
}

func (r rows[T, S]) Len() int { return r.slice.Len() }

func (r rows[T, S]) EnsureCapacity(n int) { r.slice.EnsureCapacity(n) }

func (r rows[T, S]) setZero() {
	if r.slice.Len() == 0 {
		r.slice.AppendEmpty()
	}
	r.zero().MoveTo(r.slice.At(0))
}

func (r rows[T, S]) removeIf(remove func(i int) bool) { r.slice.RemoveIf(oneByOne[T](remove)) }

func (r rows[T, S]) moveTo(other anyTable) { r.slice.MoveAndAppendTo(other.(rows[T, S]).slice) }

func (r rows[T, S]) copyTo(other anyTable, entries []int32) {
	to := other.(rows[T, S]).slice
	for _, i := range entries {
		r.slice.At(int(i)).CopyTo(to.AppendEmpty())
	}
}

// oneByOne returns a function that reports, for one entry after the other, whether to remove it.
func oneByOne[T any](remove func(i int) bool) func(T) bool {
	i := -1
	return func(T) bool {
		i++
		return remove(i)
	}
}

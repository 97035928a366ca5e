// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge

import (
	"math/bits"

	"github.com/otelpprof/otelpprof/internal/references"
)

// sizes are the numbers of entries of a sum, or of what a payload can add to it.
type sizes struct {
	strings, stringBytes int
	functions, mappings  int
	locations, lines     int
	stacks, frames       int
	rows, values         int
	labels, labelsOfRows int
	comments             int
	labelSums            int
}

// bytes is the most that the tables of so many entries take. Tables double, and are copied then, and an index has three
// slots for each entry at most.
func (n sizes) bytes() int64 {
	const (
		growth    = 3
		indexSlot = 48
	)
	return int64(n.strings)*(16*growth+indexSlot) + int64(n.stringBytes) + int64(n.stringBytes)/4 +
		int64(n.functions)*(24*growth+indexSlot) + int64(n.mappings)*(72*growth+128) +
		int64(n.locations)*((16+8+8)*growth+indexSlot) + int64(n.lines)*24*growth +
		int64(n.stacks)*(8*growth+indexSlot) + int64(n.frames)*4*growth +
		int64(n.rows)*((8+8)*growth+indexSlot) + int64(n.values)*8*growth +
		int64(n.labels)*((labelParts*4+8)*growth+indexSlot) + int64(n.labelsOfRows)*4*growth +
		int64(n.comments)*(4*growth+indexSlot) + int64(n.labelSums)*8*growth
}

func (n sizes) plus(other sizes) sizes {
	return sizes{
		strings: n.strings + other.strings, stringBytes: n.stringBytes + other.stringBytes,
		functions: n.functions + other.functions, mappings: n.mappings + other.mappings,
		locations: n.locations + other.locations, lines: n.lines + other.lines,
		stacks: n.stacks + other.stacks, frames: n.frames + other.frames,
		rows: n.rows + other.rows, values: n.values + other.values,
		labels: n.labels + other.labels, labelsOfRows: n.labelsOfRows + other.labelsOfRows,
		comments: n.comments + other.comments, labelSums: n.labelSums + other.labelSums,
	}
}

// sizes returns what the sum has.
func (m *Merger) sizes() sizes {
	n := m.dict.Len()
	return sizes{
		strings: n.Strings, stringBytes: m.stringBytes,
		functions: n.Functions, mappings: len(m.mappings),
		locations: n.Locations, lines: m.lines,
		stacks: n.Stacks, frames: m.frames,
		rows: m.rows.Len(), values: len(m.values),
		labels: m.labels.Len(), labelsOfRows: m.labelsOfRows,
		comments: len(m.header.comments), labelSums: len(m.labelSums),
	}
}

// most returns what the payload can add to a sum with so many sample types, and whose labels may be counted.
func (p *payload) most(types int, counted bool) sizes {
	w := &p.wire
	sums := 0
	if counted {
		sums = len(w.Labels) * (types + sumParts)
	}
	return sizes{
		strings: w.NumStrings(), stringBytes: w.StringBytes(), functions: len(w.Functions), mappings: len(w.Mappings),
		locations: len(w.Locations), lines: len(w.Lines),
		stacks: len(w.Samples), frames: len(w.LocationIDs),
		rows: len(w.Samples), values: len(w.Samples) * types,
		labels: len(w.Labels), labelsOfRows: len(w.Labels) + len(w.Samples), // a sample to subtract has one more
		comments: len(w.Comments), labelSums: sums,
	}
}

// kept is the memory that the payload has from the pprof before it.
func (p *payload) kept() int64 {
	return p.wire.Kept() + p.refs.Kept() + 4*int64(cap(p.strings)+cap(p.functions)+cap(p.mappings)+cap(p.locations))
}

// bytes is the most that the payload takes while it is added: what it has, and what it needs more.
func (p *payload) bytes() int64 {
	w := &p.wire
	return p.kept() + references.Bytes(w) + 4*int64(w.NumStrings()+len(w.Functions)+len(w.Mappings)+len(w.Locations))
}

// OutputBytes is the most that Append appends.
func (m *Merger) OutputBytes() int64 {
	const (
		message = 12 // tag and length of a message, and the tags and lengths in it
		number  = 11 // tag and number
	)
	n := m.sizes()
	id := int64(bits.Len(uint(n.locations))/7 + 1)
	stacks := int64(0)
	for row := range n.rows {
		identity, _ := m.rows.At(row)
		stacks += int64(len(m.dict.StackAt(identity.Stack))) * id
	}
	return stacks + int64(n.rows)*2*message + int64(n.values)*(number-1) + int64(n.labelsOfRows)*(message+4*number) +
		int64(n.mappings)*(message+10*number) + int64(n.locations)*(message+4*number) + int64(n.lines)*(message+3*number) +
		int64(n.functions)*(message+5*number) + int64(n.strings)*message + int64(n.stringBytes) +
		int64(len(m.header.types)+1)*(message+2*number) + int64(n.comments)*number + 16*number
}

// Bytes is the most that the sum takes.
func (m *Merger) Bytes() int64 { return m.sizes().bytes() }

// grow asks for the memory that the sum takes with more entries, beside extra bytes.
func (m *Merger) grow(more sizes, extra int64) error {
	if m.Reserve == nil {
		return nil
	}
	return m.Reserve(m.sizes().plus(more).bytes() + extra)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package debuginfo reads functions, inlined functions and lines from DWARF 2 to 5.
//
// It reads the sections once, from the first to the last byte, and keeps nothing of what it has read but what it adds to the index. A file
// can be hostile: each number is checked where it is used, and the work and the memory are counted.
package debuginfo // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/debuginfo"

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// Sections are those of DWARF, inflated.
type Sections struct {
	Info, Abbrev, Line, Str, LineStr, StrOffsets, Addr, Ranges, RngLists []byte

	Order binary.ByteOrder
}

// Stats count what was not read.
type Stats struct {
	// Split are units whose functions are in a .dwo file.
	Split int
	// Elsewhere are references to a file that dwz made.
	Elsewhere int
	// Skipped are units of versions that are not known.
	Skipped int
	// Malformed are units, and programs of lines, that could not be read to their end.
	Malformed int
}

// reader reads the sections of one file.
type reader struct {
	sections Sections
	builder  *index.Builder
	memory   *meter.Meter
	stats    Stats

	units []unit
	// tables are abbreviations by offset, current is the one of currentUnit.
	tables      map[uint64]abbreviations
	tableBytes  int64
	current     abbreviations
	currentUnit *unit
	// functions are those of entries to which others refer.
	functions map[uint64]uint32
	// programs are the offsets of the programs of lines that were read.
	programs map[uint64]bool
	stack    []uint32
}

// Read adds the functions and lines of DWARF to a builder. Units that are malformed end, and are counted; the others are read. The error
// is that of the meter.
func Read(sections Sections, builder *index.Builder, memory *meter.Meter) (Stats, error) {
	r := &reader{
		sections: sections, builder: builder, memory: memory,
		tables: map[uint64]abbreviations{}, functions: map[uint64]uint32{}, programs: map[uint64]bool{},
	}
	if err := r.keep(r.readUnits()); err != nil {
		return r.stats, err
	}
	for i := range r.units {
		if err := r.keep(r.readUnit(&r.units[i])); err != nil {
			return r.stats, err
		}
		if err := builder.Err(); err != nil {
			return r.stats, err
		}
	}
	return r.stats, nil
}

// keep counts an error of the file, and returns others.
func (r *reader) keep(err error) error {
	if errors.Is(err, errMalformed) {
		r.stats.Malformed++
		return nil
	}
	return err
}

// advance counts work.
func (r *reader) advance(bytes int) error { return r.memory.Advance(int64(bytes)) }

func (r *reader) readUnit(u *unit) error {
	if err := r.load(u); err != nil {
		return err
	}
	if u.split {
		r.stats.Split++
	}
	files, err := r.readLines(u)
	if err := r.keep(err); err != nil {
		return err
	}
	return r.walk(u, files)
}

// maxDepth limits how deep entries are within each other.
const maxDepth = 4096

// walk reads all entries of a unit.
func (r *reader) walk(u *unit, files *files) error {
	c := r.cursorAt(u, u.body)
	stack, node := r.stack[:0], uint32(0)
	for !c.end() {
		begin := c.at
		a, err := r.entry(u, &c)
		if err != nil {
			return err
		}
		if a == nil { // The children of an entry end.
			if len(stack) == 0 {
				return nil
			}
			node, stack = stack[len(stack)-1], stack[:len(stack)-1]
			continue
		}
		inner := node
		switch a.tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine:
			if inner, err = r.readFunction(u, &c, a, node, files); err != nil {
				return err
			}
		default:
			for _, at := range a.attributes {
				u.value(&c, at)
			}
		}
		if a.hasChildren {
			if len(stack) >= maxDepth {
				return malformed("entries are deeper than %d", maxDepth)
			}
			stack = append(stack, node)
			node = inner
		}
		if err := r.advance(c.at - begin); err != nil {
			return err
		}
	}
	r.stack = stack
	if c.failed {
		return malformed("the unit at %d ends within an entry", u.offset)
	}
	return nil
}

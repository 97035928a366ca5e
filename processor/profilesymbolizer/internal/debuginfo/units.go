// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package debuginfo

import (
	"cmp"
	"debug/dwarf"
	"slices"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
)

// Attributes that debug/dwarf does not name.
const (
	atMIPSLinkageName = 0x2007
	atGNUDwoName      = 0x2130
	atGNURangesBase   = 0x2132
	atGNUAddrBase     = 0x2133
)

// unit is a unit of .debug_info.
type unit struct {
	// offset and end are those of the unit in the section, body that of its first entry.
	offset, body, end uint64
	abbreviations     uint64
	version           uint16
	addressSize       int
	offsetSize        int

	// What its first entry says.

	loaded                                      bool
	low                                         uint64
	textOffsets, addresses, rangeLists, gnuBase uint64
	lines                                       value
	directory                                   []byte
	split                                       bool
}

// unitBytes is the memory of a unit while they are read.
const unitBytes = 3 * 160

// readUnits reads the headers of all units.
func (r *reader) readUnits() error {
	c := cursor{data: r.sections.Info, order: r.sections.Order}
	for !c.end() {
		u := unit{offset: uint64(c.at)}
		var length uint64
		length, u.offsetSize = c.length()
		if length > uint64(len(c.data)-c.at) || c.failed {
			return malformed("a unit of %d bytes at %d", length, u.offset)
		}
		u.end = uint64(c.at) + length
		h := cursor{data: c.data[:u.end], at: c.at, order: c.order}
		u.version = uint16(h.number(2))
		kind := byte(0)
		if u.version >= 5 {
			kind, u.addressSize, u.abbreviations = h.byte(), int(h.byte()), h.number(u.offsetSize)
		} else {
			u.abbreviations, u.addressSize = h.number(u.offsetSize), int(h.byte())
		}
		switch kind {
		case 2, 6: // a type unit: its signature, and the offset of the type
			h.skip(8 + uint64(u.offsetSize))
		case 4, 5: // a skeleton: the id of what it belongs to
			h.skip(8)
		}
		if u.body = uint64(h.at); h.failed || u.version < 2 || u.version > 5 || u.addressSize != 4 && u.addressSize != 8 {
			r.stats.Skipped++
		} else {
			if err := r.memory.Use(unitBytes); err != nil {
				return err
			}
			r.units = append(r.units, u)
		}
		c.at = int(u.end)
	}
	return nil
}

// unitAt returns the unit with an offset of the section.
func (r *reader) unitAt(offset uint64) *unit {
	i, found := slices.BinarySearchFunc(r.units, offset, func(u unit, offset uint64) int { return cmp.Compare(u.offset, offset) })
	if !found {
		i--
	}
	if i < 0 || offset >= r.units[i].end || offset < r.units[i].body {
		return nil
	}
	return &r.units[i]
}

// load reads the first entry of a unit: others need what it says.
func (r *reader) load(u *unit) error {
	if u.loaded {
		return nil
	}
	u.loaded = true
	u.gnuBase = 0
	if u.version >= 5 { // Without the attributes, the first lists after the headers.
		u.textOffsets, u.addresses, u.rangeLists = uint64(2*u.offsetSize), 8, uint64(2*u.offsetSize+4)
	}
	c := r.cursorAt(u, u.body)
	entry, err := r.entry(u, &c)
	if err != nil || entry == nil {
		return err
	}
	var low, directory value
	for _, a := range entry.attributes {
		v := u.value(&c, a)
		switch a.name {
		case dwarf.AttrLowpc:
			low = v
		case dwarf.AttrCompDir:
			directory = v
		case dwarf.AttrStmtList:
			u.lines = v
		case dwarf.AttrStrOffsetsBase:
			u.textOffsets = v.number
		case dwarf.AttrAddrBase, atGNUAddrBase:
			u.addresses = v.number
		case dwarf.AttrRnglistsBase:
			u.rangeLists = v.number
		case atGNURangesBase:
			u.gnuBase = v.number
		case dwarf.AttrDwoName, atGNUDwoName:
			u.split = true
		}
	}
	u.low, _ = r.address(u, low)
	// Its text can need the bases, which can come after it.
	u.directory = r.text(u, directory)
	return nil
}

func (r *reader) cursorAt(u *unit, offset uint64) cursor {
	return cursor{data: r.sections.Info[:u.end], at: int(offset), order: r.sections.Order}
}

// entry returns the abbreviation of an entry whose attributes come next, or nil at the end of a list of children.
func (r *reader) entry(u *unit, c *cursor) (*abbreviation, error) {
	begin := c.at
	code := c.unsigned()
	if code == 0 || c.failed {
		return nil, nil //nolint:nilnil // the list ends
	}
	table := r.current
	if r.currentUnit != u {
		var err error
		if table, err = r.abbreviationsAt(u.abbreviations); err != nil {
			return nil, err
		}
		r.current, r.currentUnit = table, u
	}
	found := table[code]
	if found == nil {
		return nil, malformed("abbreviation %d of the entry at %d does not exist", code, begin)
	}
	return found, nil
}

// text returns the text of a value.
func (r *reader) text(u *unit, v value) []byte {
	switch v.kind {
	case kindText:
		return v.bytes
	case kindTextOffset:
		return elffile.TextBytes(r.sections.Str, v.number)
	case kindLineTextOffset:
		return elffile.TextBytes(r.sections.LineStr, v.number)
	case kindTextIndex:
		offset, ok := r.indexed(r.sections.StrOffsets, u.textOffsets, v.number, u.offsetSize)
		if ok {
			return elffile.TextBytes(r.sections.Str, offset)
		}
	}
	return nil
}

// address returns the address of a value.
func (r *reader) address(u *unit, v value) (uint64, bool) {
	switch v.kind {
	case kindAddress:
		return v.number, true
	case kindAddressIndex:
		return r.indexed(r.sections.Addr, u.addresses, v.number, u.addressSize)
	}
	return 0, false
}

// indexed returns an entry of a table in a section.
func (r *reader) indexed(section []byte, base, index uint64, size int) (uint64, bool) {
	if base > uint64(len(section)) || index >= (uint64(len(section))-base)/uint64(size) {
		return 0, false
	}
	c := cursor{data: section, at: int(base + index*uint64(size)), order: r.sections.Order}
	return c.number(size), true
}

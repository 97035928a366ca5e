// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package debuginfo

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"unsafe"
)

var errMalformed = errors.New("malformed DWARF")

func malformed(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", errMalformed, fmt.Sprintf(format, arguments...))
}

// abbreviation says which attributes an entry has.
type abbreviation struct {
	tag         dwarf.Tag
	hasChildren bool
	// fixed is the size of all attributes, or -1 if it varies.
	fixed      int
	attributes []attribute
}

type attribute struct {
	name     dwarf.Attr
	form     uint16
	constant int64
}

// abbreviations is one table. Most have the codes 1, 2, 3 and so on.
type abbreviations struct {
	dense  []abbreviation
	sparse map[uint64]*abbreviation
}

func (a *abbreviations) find(code uint64) *abbreviation {
	if code-1 < uint64(len(a.dense)) {
		return &a.dense[code-1]
	}
	return a.sparse[code]
}

// maxTables is how many tables are kept. Units next to each other share one, or have tables of their own.
const maxTables = 64

// maxAttributes limits those of an entry. Compilers write less than 30.
const maxAttributes = 1 << 10

// abbreviationsOf returns the table of a unit.
func (r *reader) abbreviationsOf(u *unit) (*abbreviations, error) {
	key := tableKey{u.abbreviations, u.addressSize, u.offsetSize, u.version}
	if table := r.tables[key]; table != nil {
		return table, nil
	}
	if len(r.tables) >= maxTables {
		clear(r.tables)
		_ = r.memory.Use(-r.tableBytes)
		r.tableBytes = 0
	}
	table, err := r.readAbbreviations(u)
	if err != nil {
		return nil, err
	}
	r.tables[key] = table
	return table, nil
}

type tableKey struct {
	offset                  uint64
	addressSize, offsetSize int
	version                 uint16
}

func (r *reader) readAbbreviations(u *unit) (*abbreviations, error) {
	if u.abbreviations > uint64(len(r.sections.Abbrev)) {
		return nil, malformed("abbreviations at %d", u.abbreviations)
	}
	c := cursor{data: r.sections.Abbrev[u.abbreviations:], order: r.sections.Order}
	table := &abbreviations{}
	for !c.end() {
		begin := c.at
		code := c.unsigned()
		if code == 0 {
			return table, nil
		}
		a := abbreviation{tag: dwarf.Tag(c.unsigned()), hasChildren: c.byte() != 0}
		for !c.failed {
			name, form := c.unsigned(), c.unsigned()
			if name == 0 && form == 0 {
				break
			}
			at := attribute{name: dwarf.Attr(min(name, 0xffff)), form: uint16(min(form, 0xffff))}
			if at.form == formImplicitConst {
				at.constant = c.signed()
			}
			if len(a.attributes) >= maxAttributes {
				return nil, malformed("abbreviation %d has more than %d attributes", code, maxAttributes)
			}
			a.attributes = append(a.attributes, at)
			a.add(at, u)
		}
		bytes := int64(unsafe.Sizeof(a)) + 3*int64(len(a.attributes))*int64(unsafe.Sizeof(attribute{}))
		if err := r.memory.Use(2 * bytes); err != nil {
			return nil, err
		}
		r.tableBytes += 2 * bytes
		if err := r.advance(c.at - begin); err != nil {
			return nil, err
		}
		table.add(code, &a)
	}
	return nil, malformed("abbreviations at %d have no end", u.abbreviations)
}

func (a *abbreviations) add(code uint64, entry *abbreviation) {
	if code == uint64(len(a.dense))+1 && a.sparse[code] == nil {
		a.dense = append(a.dense, *entry)
		return
	}
	if a.sparse == nil {
		a.sparse = map[uint64]*abbreviation{}
	}
	a.sparse[code] = entry
}

// add notes what an attribute means for the size of the entry.
func (a *abbreviation) add(at attribute, u *unit) {
	if size := u.formSize(at.form); size < 0 || a.fixed < 0 {
		a.fixed = -1
	} else {
		a.fixed += size
	}
}

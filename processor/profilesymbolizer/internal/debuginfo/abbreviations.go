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
	attributes  []attribute
}

type attribute struct {
	name     dwarf.Attr
	form     form
	constant int64
}

// abbreviations is one table, by code.
type abbreviations map[uint64]*abbreviation

// maxTables is how many tables are kept. Units next to each other share one, or have tables of their own.
const maxTables = 64

// maxAttributes limits those of an entry. Compilers write less than 30.
const maxAttributes = 1 << 10

// abbreviationsAt returns the table at an offset.
func (r *reader) abbreviationsAt(offset uint64) (abbreviations, error) {
	if table := r.tables[offset]; table != nil {
		return table, nil
	}
	if len(r.tables) >= maxTables {
		clear(r.tables)
		_ = r.memory.Use(-r.tableBytes)
		r.tableBytes = 0
	}
	table, err := r.readAbbreviations(offset)
	if err != nil {
		return nil, err
	}
	r.tables[offset] = table
	return table, nil
}

func (r *reader) readAbbreviations(offset uint64) (abbreviations, error) {
	if offset > uint64(len(r.sections.Abbrev)) {
		return nil, malformed("abbreviations at %d", offset)
	}
	c := cursor{data: r.sections.Abbrev[offset:], order: r.sections.Order}
	table := abbreviations{}
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
			at := attribute{name: dwarf.Attr(min(name, 0xffff)), form: forms[form]}
			if at.form.size == sizeConstant {
				at.constant = c.signed()
			}
			if len(a.attributes) >= maxAttributes {
				return nil, malformed("abbreviation %d has more than %d attributes", code, maxAttributes)
			}
			a.attributes = append(a.attributes, at)
		}
		bytes := int64(unsafe.Sizeof(a)) + 3*int64(len(a.attributes))*int64(unsafe.Sizeof(attribute{}))
		if err := r.memory.Use(2 * bytes); err != nil {
			return nil, err
		}
		r.tableBytes += 2 * bytes
		if err := r.advance(c.at - begin); err != nil {
			return nil, err
		}
		table[code] = &a
	}
	return nil, malformed("abbreviations at %d have no end", offset)
}

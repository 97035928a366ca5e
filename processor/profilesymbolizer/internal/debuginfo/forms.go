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

// kind is what a value means.
type kind uint8

const (
	kindNone kind = iota
	kindNumber
	kindAddress
	kindAddressIndex
	kindText       // in bytes
	kindTextOffset // in .debug_str
	kindLineTextOffset
	kindTextIndex
	kindReference     // an offset in .debug_info
	kindUnitReference // the same from the begin of the unit, which becomes a kindReference
	kindOffset        // in the section that the attribute says
	kindListIndex
	kindElsewhere // in a file that is not read: an alternate of dwz, or a type unit
	kindIndirect  // the form comes before the value
)

// value is that of an attribute.
type value struct {
	kind   kind
	number uint64
	bytes  []byte
}

// form is how a value is written. The zero value is a form that is not known.
type form struct {
	kind kind
	size size
}

// size is the number of bytes of a value, or one of these.
type size int8

const (
	sizeOfAddress size = -iota - 1
	sizeOfOffset
	sizeOfReference // in DWARF 2 that of an address, later that of an offset
	sizeUnsigned
	sizeSigned
	sizeText
	sizeConstant // The value is in the abbreviation.
	sizeTrue     // The attribute alone says it.
	sizeData16
	sizeBlock // its length is unsigned
	sizeBlock1
	sizeBlock2
	sizeBlock4
)

// forms are those of DWARF 2 to 5 and of GNU, by their numbers.
var forms = map[uint64]form{
	0x01:   {kindAddress, sizeOfAddress},
	0x03:   {kindNone, sizeBlock2},
	0x04:   {kindNone, sizeBlock4},
	0x05:   {kindNumber, 2},
	0x06:   {kindNumber, 4},
	0x07:   {kindNumber, 8},
	0x08:   {kindText, sizeText},
	0x09:   {kindNone, sizeBlock},
	0x0a:   {kindNone, sizeBlock1},
	0x0b:   {kindNumber, 1},
	0x0c:   {kindNumber, 1}, // flag
	0x0d:   {kindNumber, sizeSigned},
	0x0e:   {kindTextOffset, sizeOfOffset},
	0x0f:   {kindNumber, sizeUnsigned},
	0x10:   {kindReference, sizeOfReference},
	0x11:   {kindUnitReference, 1},
	0x12:   {kindUnitReference, 2},
	0x13:   {kindUnitReference, 4},
	0x14:   {kindUnitReference, 8},
	0x15:   {kindUnitReference, sizeUnsigned},
	0x16:   {kind: kindIndirect},
	0x17:   {kindOffset, sizeOfOffset},
	0x18:   {kindNone, sizeBlock}, // exprloc
	0x19:   {kindNumber, sizeTrue},
	0x1a:   {kindTextIndex, sizeUnsigned},
	0x1b:   {kindAddressIndex, sizeUnsigned},
	0x1c:   {kindElsewhere, 4},            // ref_sup4
	0x1d:   {kindElsewhere, sizeOfOffset}, // strp_sup
	0x1e:   {kindNone, sizeData16},
	0x1f:   {kindLineTextOffset, sizeOfOffset},
	0x20:   {kindElsewhere, 8}, // ref_sig8
	0x21:   {kindNumber, sizeConstant},
	0x22:   {kindListIndex, sizeUnsigned}, // loclistx
	0x23:   {kindListIndex, sizeUnsigned}, // rnglistx
	0x24:   {kindElsewhere, 8},            // ref_sup8
	0x25:   {kindTextIndex, 1},
	0x26:   {kindTextIndex, 2},
	0x27:   {kindTextIndex, 3},
	0x28:   {kindTextIndex, 4},
	0x29:   {kindAddressIndex, 1},
	0x2a:   {kindAddressIndex, 2},
	0x2b:   {kindAddressIndex, 3},
	0x2c:   {kindAddressIndex, 4},
	0x1f01: {kindAddressIndex, sizeUnsigned}, // GNU_addr_index
	0x1f02: {kindTextIndex, sizeUnsigned},    // GNU_str_index
	0x1f20: {kindElsewhere, sizeOfOffset},    // GNU_ref_alt
	0x1f21: {kindElsewhere, sizeOfOffset},    // GNU_strp_alt
}

// value reads the value of an attribute.
func (u *unit) value(c *cursor, at attribute) value {
	f := at.form
	for range 4 { // more than one makes no sense
		if f.kind != kindIndirect {
			break
		}
		f = forms[c.unsigned()]
	}
	v := value{kind: f.kind}
	switch f.size {
	case 0:
		c.failed = true
		return value{}
	case sizeOfAddress:
		v.number = c.number(u.addressSize)
	case sizeOfOffset:
		v.number = c.number(u.offsetSize)
	case sizeOfReference:
		if u.version < 3 {
			v.number = c.number(u.addressSize)
		} else {
			v.number = c.number(u.offsetSize)
		}
	case sizeUnsigned:
		v.number = c.unsigned()
	case sizeSigned:
		v.number = uint64(c.signed())
	case sizeText:
		v.bytes = c.text()
	case sizeConstant:
		v.number = uint64(at.constant)
	case sizeTrue:
		v.number = 1
	case sizeData16:
		c.skip(16)
	case sizeBlock:
		c.skip(c.unsigned())
	case sizeBlock1:
		c.skip(c.number(1))
	case sizeBlock2:
		c.skip(c.number(2))
	case sizeBlock4:
		c.skip(c.number(4))
	default:
		v.number = c.number(int(f.size))
	}
	if v.kind == kindUnitReference {
		v.kind, v.number = kindReference, u.offset+v.number
	}
	return v
}

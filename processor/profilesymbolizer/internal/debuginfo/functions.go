// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package debuginfo

import (
	"debug/dwarf"
	"math"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// names are those of a function. Each can be missing, and be that of its origin.
type names struct {
	name, linked []byte
	line         uint32
	origin       value
}

// add notes an attribute. What is known stays.
func (n *names) add(r *reader, u *unit, name dwarf.Attr, v value) {
	switch name {
	case dwarf.AttrName:
		if n.name == nil {
			n.name = r.text(u, v)
		}
	case dwarf.AttrLinkageName, atMIPSLinkageName:
		if n.linked == nil {
			n.linked = r.text(u, v)
		}
	case dwarf.AttrDeclLine:
		if n.line == 0 {
			n.line = uint32(min(v.number, math.MaxInt32))
		}
	case dwarf.AttrAbstractOrigin, dwarf.AttrSpecification:
		n.origin = v
	}
}

// readFunction reads the attributes of a function, or of one that was inlined in a node, and returns its node.
func (r *reader) readFunction(u *unit, c *cursor, a *abbreviation, parent uint32, files *files) (uint32, error) {
	var own names
	var code extent
	var file uint64
	var call index.Place
	for _, at := range a.attributes {
		v := u.value(c, at)
		switch at.name {
		case dwarf.AttrLowpc:
			code.low = v
		case dwarf.AttrHighpc:
			code.high = v
		case dwarf.AttrRanges:
			code.ranges = v
		case dwarf.AttrCallFile:
			file = v.number
		case dwarf.AttrCallLine:
			call.Line = uint32(min(v.number, math.MaxInt32))
		case dwarf.AttrCallColumn:
			call.Column = uint32(min(v.number, math.MaxInt32))
		default:
			own.add(r, u, at.name, v)
		}
	}
	inlined := a.tag == dwarf.TagInlinedSubroutine
	outside := uint32(0)
	if inlined {
		outside = parent
	}
	if c.failed || !code.isCode() {
		return outside, nil
	}
	function, err := r.function(own)
	if err != nil || function == 0 {
		return outside, err
	}
	if inlined {
		call.File = files.text(r, file)
	} else {
		parent = 0
	}
	node := r.builder.Node(function, parent, call)
	return node, r.each(u, &code, func(low, high uint64) { r.builder.Range(index.LayerDebug, low, high, node) })
}

// function returns the number of a function, or 0 if it has no name.
func (r *reader) function(own names) (uint32, error) {
	if own.origin.kind != kindReference || own.name != nil || own.linked != nil {
		if err := r.follow(&own); err != nil {
			return 0, err
		}
		return r.named(&own), nil
	}
	key := own.origin.number
	if function, known := r.functions[key]; known {
		return function, nil
	}
	own.line = 0 // That of the origin is the same for all.
	if err := r.follow(&own); err != nil {
		return 0, err
	}
	if err := r.memory.Use(64); err != nil { // an entry of the map
		return 0, err
	}
	function := r.named(&own)
	r.functions[key] = function
	return function, nil
}

func (r *reader) named(n *names) uint32 {
	switch {
	case len(n.linked) > 0:
		return r.builder.Linked(string(n.linked), string(n.name), n.line)
	case len(n.name) > 0:
		name := string(n.name)
		return r.builder.Function(name, name, n.line)
	}
	return 0
}

// maxOrigins limits how many entries are followed: a hostile file has circles.
const maxOrigins = 8

// follow completes names by those of the origin, and of its origin.
func (r *reader) follow(n *names) error {
	for range maxOrigins {
		origin := n.origin
		n.origin = value{}
		if origin.kind == kindElsewhere {
			r.stats.Elsewhere++
		}
		if origin.kind != kindReference {
			return nil
		}
		u := r.unitAt(origin.number)
		if u == nil {
			return nil
		}
		if err := r.load(u); err != nil {
			return err
		}
		c := r.cursorAt(u, origin.number)
		entry, err := r.entry(u, &c)
		if err != nil || entry == nil {
			return err
		}
		for _, at := range entry.attributes {
			n.add(r, u, at.name, u.value(&c, at))
		}
		if err := r.advance(c.at - int(origin.number)); err != nil {
			return err
		}
	}
	return nil
}

// extent is where the code of an entry is.
type extent struct{ low, high, ranges value }

// isCode reports whether the entry has code.
func (e *extent) isCode() bool { return e.high.kind != kindNone || e.ranges.kind != kindNone }

// each calls f with the ranges of an entry.
func (r *reader) each(u *unit, e *extent, f func(low, high uint64)) error {
	if e.ranges.kind != kindNone {
		if u.version >= 5 {
			return r.rangeList(u, e.ranges, f)
		}
		return r.oldRanges(u, e.ranges.number+u.gnuBase, f)
	}
	low, ok := r.address(u, e.low)
	if !ok {
		return nil
	}
	high, ok := r.address(u, e.high)
	if !ok {
		high = low + e.high.number
	}
	f(low, high)
	return nil
}

// oldRanges reads .debug_ranges, of DWARF before 5.
func (r *reader) oldRanges(u *unit, offset uint64, f func(low, high uint64)) error {
	if offset > uint64(len(r.sections.Ranges)) {
		return malformed("ranges at %d", offset)
	}
	c := cursor{data: r.sections.Ranges, at: int(offset), order: r.sections.Order}
	base, highest := u.low, ^uint64(0)>>(64-8*u.addressSize)
	for !c.end() {
		low, high := c.number(u.addressSize), c.number(u.addressSize)
		switch {
		case low == 0 && high == 0:
			return nil
		case low == highest:
			base = high
		default:
			f(base+low, base+high)
		}
		if err := r.advance(2 * u.addressSize); err != nil {
			return err
		}
	}
	return malformed("ranges at %d have no end", offset)
}

// The kinds of entries of .debug_rnglists.
const (
	rangeEnd = iota
	rangeBaseIndex
	rangeStartEndIndex
	rangeStartLengthIndex
	rangeOffsets
	rangeBase
	rangeStartEnd
	rangeStartLength
)

// rangeList reads .debug_rnglists, of DWARF 5.
func (r *reader) rangeList(u *unit, v value, f func(low, high uint64)) error {
	offset := v.number
	if v.kind == kindListIndex {
		relative, ok := r.indexed(r.sections.RngLists, u.rangeLists, v.number, u.offsetSize)
		if !ok {
			return malformed("list of ranges %d", v.number)
		}
		offset = u.rangeLists + relative
	}
	if offset > uint64(len(r.sections.RngLists)) {
		return malformed("ranges at %d", offset)
	}
	c := cursor{data: r.sections.RngLists, at: int(offset), order: r.sections.Order}
	base := u.low
	indexed := func() uint64 {
		address, ok := r.indexed(r.sections.Addr, u.addresses, c.unsigned(), u.addressSize)
		c.failed = c.failed || !ok
		return address
	}
	for !c.failed {
		begin := c.at
		var low, high uint64
		switch c.byte() {
		case rangeEnd:
			if c.failed {
				break
			}
			return nil
		case rangeBaseIndex:
			base = indexed()
		case rangeStartEndIndex:
			low, high = indexed(), indexed()
		case rangeStartLengthIndex:
			low = indexed()
			high = low + c.unsigned()
		case rangeOffsets:
			low, high = base+c.unsigned(), base+c.unsigned()
		case rangeBase:
			base = c.number(u.addressSize)
		case rangeStartEnd:
			low, high = c.number(u.addressSize), c.number(u.addressSize)
		case rangeStartLength:
			low = c.number(u.addressSize)
			high = low + c.unsigned()
		default:
			c.failed = true
		}
		if !c.failed && low < high {
			f(low, high)
		}
		if err := r.advance(c.at - begin); err != nil {
			return err
		}
	}
	return malformed("ranges at %d", offset)
}

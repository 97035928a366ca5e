// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package debuginfo

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

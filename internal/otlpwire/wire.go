// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

// The wire types of protobuf.
const (
	wireVarint = iota
	wireEight
	wireBytes
	wireBeginGroup
	wireEndGroup
	wireFour
)

// varint reads the varint at pos and returns the position behind it.
func varint(b []byte, pos int) (value uint64, next int, ok bool) {
	if pos < len(b) && b[pos] < 0x80 {
		return uint64(b[pos]), pos + 1, true
	}
	for shift := uint(0); shift < 64 && pos < len(b); shift += 7 {
		c := b[pos]
		pos++
		value |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return value, pos, true
		}
	}
	return 0, pos, false
}

// lengthAt reads the length at pos of what is behind it, and which is all there.
func lengthAt(b []byte, pos int) (length, next int, ok bool) {
	value, next, ok := varint(b, pos)
	if !ok || value > uint64(len(b)-next) {
		return 0, next, false
	}
	return int(value), next, true
}

// skip returns the position behind an unknown field, whose value of a wire type is at pos.
//
// It ends where pdata does, so that both see the same fields behind: the first value in a group ends the group, and
// a group must not end where its message does.
func skip(b []byte, pos int, wire uint64) (next int, ok bool) {
	for depth := 0; pos < len(b); {
		switch wire {
		case wireVarint:
			_, pos, ok = varint(b, pos)
			return pos, ok
		case wireEight:
			return pos + 8, len(b)-pos >= 8
		case wireFour:
			return pos + 4, len(b)-pos >= 4
		case wireBytes:
			length, next, ok := lengthAt(b, pos)
			return next + length, ok
		case wireBeginGroup:
			depth++
		case wireEndGroup:
			if depth--; depth < 0 {
				return pos, false
			}
		default:
			return pos, false
		}
		if depth == 0 {
			return pos, true
		}
		var tag uint64
		if tag, pos, ok = varint(b, pos); !ok || int32(tag>>3) <= 0 {
			return pos, false
		}
		wire = tag & 7
	}
	return pos, false
}

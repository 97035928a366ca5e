// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpwire computes how much memory the body of an OTLP request will need when pdata unmarshals it.
//
// One pass over the tags adds up the memory that pdata v1.71.0 allocates for each submessage, each list entry and each string.
// It also checks how deep attribute values are nested. The pass allocates nothing and does not recurse.
//
// The result is an upper bound of the live heap at any time: when a list grows, its old array and its new one exist together.
package otlpwire // import "github.com/otelpprof/otelpprof/internal/wire/otlpwire"

// The wire types of protobuf.
const (
	wireVarint = iota
	wireFixed64
	wireBytes
	wireStartGroup
	wireEndGroup
	wireFixed32
)

// varint reads the varint at pos and returns the position after it.
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

// lengthAt reads the length at pos. ok is false if b has fewer bytes after it.
func lengthAt(b []byte, pos int) (length, next int, ok bool) {
	value, next, ok := varint(b, pos)
	if !ok || value > uint64(len(b)-next) {
		return 0, next, false
	}
	return int(value), next, true
}

// skip returns the position after an unknown field, whose value is at pos.
//
// It treats groups as pdata does, so that both read the same fields after it: the first value in a group ends the group, and
// something must follow a group in its message.
func skip(b []byte, pos int, wire uint64) (next int, ok bool) {
	for depth := 0; pos < len(b); {
		switch wire {
		case wireVarint:
			_, pos, ok = varint(b, pos)
			return pos, ok
		case wireFixed64:
			return pos + 8, len(b)-pos >= 8
		case wireFixed32:
			return pos + 4, len(b)-pos >= 4
		case wireBytes:
			length, next, ok := lengthAt(b, pos)
			return next + length, ok
		case wireStartGroup:
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

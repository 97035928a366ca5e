// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package outline

import (
	"encoding/binary"
	"math/bits"
)

// The functions of this file read a value at a position of data and return the position behind it, or -1 if data ends before
// it does.

const (
	// maxIntBytes and maxShortBytes are the most bytes of an int and of a short.
	maxIntBytes   = 5
	maxShortBytes = 3
	// maxLongBytes is the same for a long. All bits of its last byte are value.
	maxLongBytes = 9
)

func skipLong(data []byte, pos int) int {
	for i := pos; i < len(data); i++ {
		if data[i] < 0x80 || i == pos+maxLongBytes-1 {
			return i + 1
		}
	}
	return -1
}

func skipInt(data []byte, pos, maxBytes int) int {
	for i := pos; i < len(data) && i < pos+maxBytes; i++ {
		if data[i] < 0x80 {
			return i + 1
		}
	}
	return -1
}

func readInt(data []byte, pos int) (value uint32, next int) {
	for shift := uint(0); shift < 7*maxIntBytes; shift += 7 {
		if pos >= len(data) {
			return 0, -1
		}
		b := data[pos]
		pos++
		value |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return value, pos
		}
	}
	return 0, -1
}

func readLong(data []byte, pos int) (value uint64, next int) {
	for shift := uint(0); shift < 7*maxLongBytes; shift += 7 {
		if pos >= len(data) {
			return 0, -1
		}
		b := data[pos]
		pos++
		if shift == 7*(maxLongBytes-1) {
			return value | uint64(b)<<shift, pos
		}
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value, pos
		}
	}
	return 0, -1
}

// steps are the fields of a class whose values are all simple: the most bytes of each. They are read in one tight loop, since
// constants and events are many.
type steps struct {
	most []uint8
	// booleans says that there are booleans. Their byte may be any, and looks like the start of another value then.
	booleans bool
}

// booleanBytes stands for a boolean: one byte, whatever it is.
const booleanBytes = 1

// highBits are those that the last byte of a value does not have.
const highBits = 0x8080808080808080

// skip returns the position behind the values, or -1 if data ends before it does. It looks at eight bytes at once, and may
// accept an int that is too long, where the parser stops.
func (s *steps) skip(data []byte, pos int) int {
	if s.booleans {
		return skipEach(data, pos, s.most)
	}
	left := len(s.most)
	for left > 0 && pos+8 <= len(data) {
		ends := ^binary.LittleEndian.Uint64(data[pos:]) & highBits
		n := bits.OnesCount64(ends)
		switch {
		case n >= left:
			for range left - 1 {
				ends &= ends - 1
			}
			return pos + bits.TrailingZeros64(ends)/8 + 1
		case n == 0:
			if pos = skipEach(data, pos, s.most[len(s.most)-left:][:1]); pos < 0 {
				return -1
			}
			left--
		default:
			pos += 8 - bits.LeadingZeros64(ends)/8
			left -= n
		}
	}
	return skipEach(data, pos, s.most[len(s.most)-left:])
}

func skipEach(data []byte, pos int, steps []uint8) int {
	for _, most := range steps {
		if pos >= len(data) {
			return -1
		}
		if data[pos] < 0x80 || most == booleanBytes {
			pos++
			continue
		}
		if most == maxLongBytes {
			pos = skipLong(data, pos)
		} else {
			pos = skipInt(data, pos, int(most))
		}
		if pos < 0 {
			return -1
		}
	}
	return pos
}

// The encodings of strings.
const (
	stringNull   = 0
	stringEmpty  = 1
	stringUTF8   = 3
	stringUTF16  = 4
	stringLatin1 = 5
)

// skipString also checks the length of the string, and counts what the parser allocates to decode it.
func (r *reader) skipString(pos, end int) (next int, err error) {
	data := r.data[:end]
	if pos >= len(data) {
		return 0, r.cut(pos, "a string")
	}
	encoding := data[pos]
	switch encoding {
	case stringNull, stringEmpty:
		return pos + 1, nil
	case stringUTF8, stringUTF16, stringLatin1:
	default:
		return 0, r.fail(pos, "a string has encoding %d, which is not known", encoding)
	}
	length, next := readInt(data, pos+1)
	if next < 0 || int64(length) > int64(len(data)-next) {
		return 0, r.cut(pos, "a string")
	}
	if err := r.checkString(pos, int(length)); err != nil {
		return 0, err
	}
	switch encoding {
	case stringUTF8:
		return next + int(length), nil
	case stringLatin1:
		r.uses(latin1Factor * int64(length))
		return next + int(length), nil
	}
	r.uses(utf16Factor * int64(length))
	for range length {
		if next = skipInt(data, next, maxIntBytes); next < 0 {
			return 0, r.cut(pos, "a string")
		}
	}
	return next, nil
}

// readString returns a string, for the few that the outline needs. It must have been skipped without an error before.
func readString(data []byte, pos int) string {
	switch data[pos] {
	case stringUTF8, stringLatin1:
		length, next := readInt(data, pos+1)
		return string(data[next : next+int(length)])
	case stringUTF16:
		length, next := readInt(data, pos+1)
		if ascii := data[next:min(next+int(length), len(data))]; isASCII(ascii) {
			return string(ascii)
		}
		runes := make([]rune, length)
		for i := range runes {
			var r uint32
			r, next = readInt(data, next)
			runes[i] = rune(r)
		}
		return string(runes)
	default:
		return ""
	}
}

// isASCII tells whether all characters are one byte each, as those of the names of classes are.
func isASCII(text []byte) bool {
	for _, b := range text {
		if b >= 0x80 {
			return false
		}
	}
	return true
}

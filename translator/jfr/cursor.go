// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// cursor reads the values of a chunk. It keeps the first error. After an error it is at the end of the data, and all values are 0.
type cursor struct {
	data []byte
	pos  int
	// start is the position of the chunk in the recording.
	start  int
	limits *pprof.Limits
	// lazy says that nothing is read after the last field of an object that is in no other, so that the cursor need not skip it.
	lazy bool
	err  error
}

// fail sets the error, unless there is one. pos is the position in the chunk.
func (c *cursor) fail(pos int, format string, args ...any) {
	if c.err == nil {
		c.err = malformed("at byte %d: %s", c.start+pos, fmt.Sprintf(format, args...))
	}
	c.pos = len(c.data)
}

func (c *cursor) tooLarge(what string, got, limit int) {
	if c.err == nil {
		c.err = tooLarge(what, got, limit)
	}
	c.pos = len(c.data)
}

// at returns a cursor at another position of the same data.
func (c *cursor) at(pos int) cursor {
	return cursor{data: c.data, pos: pos, start: c.start, limits: c.limits}
}

func (c *cursor) cut() { c.fail(len(c.data), "the data end within a value") }

// lastByte is the shift of the ninth byte of a number. All bits of that byte are value.
const lastByte = 56

// long reads a number of variable length. Its type does not matter: short, int and long have the same form.
func (c *cursor) long() (value uint64) {
	if c.pos < len(c.data) && c.data[c.pos] < 0x80 {
		c.pos++
		return uint64(c.data[c.pos-1])
	}
	for shift := 0; c.pos < len(c.data); shift += 7 {
		b := c.data[c.pos]
		c.pos++
		if shift == lastByte {
			return value | uint64(b)<<lastByte
		}
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
	c.cut()
	return 0
}

func (c *cursor) skipLongs(n int) {
	for ; n > 0 && c.err == nil; n-- {
		c.long()
	}
}

// bytes returns the next n bytes, or nil after an error.
func (c *cursor) bytes(n int) []byte {
	if n > len(c.data)-c.pos {
		c.cut()
		return nil
	}
	c.pos += n
	return c.data[c.pos-n : c.pos]
}

// byte reads a boolean or another value of one byte.
func (c *cursor) byte() byte {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// count reads the number of values that follow. Each has at least one byte.
func (c *cursor) count(what string) int {
	pos := c.pos
	n := c.long()
	if n > uint64(len(c.data)-c.pos) {
		c.fail(pos, "%d %s, and there are not as many bytes", n, what)
		return 0
	}
	return int(n)
}

// The encodings of texts.
const (
	textNull   = 0
	textEmpty  = 1
	textPool   = 2 // a reference to a constant of java.lang.String
	textUTF8   = 3
	textUTF16  = 4
	textLatin1 = 5
)

// skipText skips a text, checks its length and returns its position.
func (c *cursor) skipText() (at int) {
	at = c.pos
	switch encoding := c.byte(); encoding {
	case textNull, textEmpty:
	case textPool:
		c.long()
	case textUTF8, textUTF16, textLatin1:
		length := c.count("bytes of a string")
		if length > pprof.MaxStringBytes {
			c.tooLarge("bytes of the string at byte "+strconv.Itoa(c.start+at), length, pprof.MaxStringBytes)
		}
		if encoding == textUTF16 {
			c.skipLongs(length)
		} else {
			c.bytes(length)
		}
	default:
		c.fail(at, "a string has encoding %d, which is not known", encoding)
	}
	return at
}

// appendText reads a text other than a reference, and appends at most limit bytes or characters of it to a buffer in UTF-8. It does not
// check bytes that are said to be UTF-8.
func (c *cursor) appendText(to []byte, limit int) []byte {
	switch encoding := c.byte(); encoding {
	case textUTF8:
		return append(to, c.bytes(min(c.count("bytes of a string"), limit))...)
	case textLatin1:
		for _, b := range c.bytes(min(c.count("bytes of a string"), limit)) {
			to = utf8.AppendRune(to, rune(b))
		}
	case textUTF16:
		for n := min(c.count("characters of a string"), limit); n > 0 && c.err == nil; n-- {
			unit := rune(c.long() & 0xffff)
			if utf16.IsSurrogate(unit) && n > 1 {
				unit = utf16.DecodeRune(unit, rune(c.long()&0xffff))
				n--
			}
			to = utf8.AppendRune(to, unit)
		}
	}
	return to
}

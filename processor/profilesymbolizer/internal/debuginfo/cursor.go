// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package debuginfo

import (
	"bytes"
	"encoding/binary"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
)

// cursor reads a part of a section. After its end, it returns zeros, and failed is set.
type cursor struct {
	data   []byte
	at     int
	order  binary.ByteOrder
	failed bool
}

// take returns the next bytes, or nil.
func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.data)-c.at) {
		c.failed = true
		c.at = len(c.data)
		return nil
	}
	part := c.data[c.at : c.at+int(n)]
	c.at += int(n)
	return part
}

func (c *cursor) skip(n uint64) { c.take(n) }

// end reports whether there is nothing more to read.
func (c *cursor) end() bool { return c.failed || c.at >= len(c.data) }

func (c *cursor) byte() byte {
	if c.at < len(c.data) {
		c.at++
		return c.data[c.at-1]
	}
	c.failed = true
	return 0
}

// number reads an unsigned number of 1, 2, 3, 4 or 8 bytes.
func (c *cursor) number(size int) uint64 {
	b := c.take(uint64(size))
	if b == nil {
		return 0
	}
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(c.order.Uint16(b))
	case 3:
		if c.order == binary.ByteOrder(binary.BigEndian) {
			return uint64(b[0])<<16 | uint64(b[1])<<8 | uint64(b[2])
		}
		return uint64(b[2])<<16 | uint64(b[1])<<8 | uint64(b[0])
	case 4:
		return uint64(c.order.Uint32(b))
	case 8:
		return c.order.Uint64(b)
	}
	c.failed = true
	return 0
}

// unsigned reads a ULEB128 number. Bits above 64 are lost.
func (c *cursor) unsigned() (value uint64) {
	for shift := 0; ; shift += 7 {
		b := c.byte()
		if shift < 64 {
			value |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return value
		}
	}
}

// signed reads a SLEB128 number.
func (c *cursor) signed() (value int64) {
	for shift := 0; ; {
		b := c.byte()
		if shift < 64 {
			value |= int64(b&0x7f) << shift
		}
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				value |= -1 << shift
			}
			return value
		}
	}
}

// text reads a text that a zero byte ends. One that is too long is as one that is missing.
func (c *cursor) text() []byte {
	end := bytes.IndexByte(c.data[c.at:], 0)
	if end < 0 {
		c.failed = true
		c.at = len(c.data)
		return nil
	}
	part := c.data[c.at : c.at+end]
	if c.at += end + 1; end >= elffile.MaxText {
		return nil
	}
	return part
}

// length reads the length at the begin of a unit, and the size of offsets in it.
func (c *cursor) length() (length uint64, offsetSize int) {
	length = c.number(4)
	if length < 0xfffffff0 {
		return length, 4
	}
	if length != 0xffffffff {
		c.failed = true
	}
	return c.number(8), 8
}

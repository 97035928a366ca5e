// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// magic is the start of every chunk.
const magic = "FLR\x00"

const (
	headerBytes  = 68
	majorVersion = 2
	// compressedIntegers is the bit of the features which says that integers have a variable length.
	compressedIntegers = 1
	// maxChunks is far more than a recording of a minute has: the JDK begins another chunk after 12 MB.
	maxChunks = 4096
	// chunkBytes is the memory of a chunk without classes and constants.
	chunkBytes = 4 << 10
)

// chunk is a part of a recording with classes and constants of its own. It has no content, only the position of each constant, so its
// memory is a small multiple of their number.
type chunk struct {
	cursor
	// startNanos is the time at startTicks in nanoseconds since 1970.
	startNanos, durationNanos, startTicks, ticksPerSecond uint64

	classes map[uint64]*class
	pools   [numPools]pool
	// stack has the frames of the last stack. They have no class if the metadata have none.
	stack  frames
	values fields
}

// chunkReader reads the classes and constants of a chunk.
type chunkReader struct {
	*chunk
	t       *decoding
	strings []string
	// ordered has the classes in their order.
	ordered []*class
}

// readChunks reads the classes and constants of all chunks, which refer to data. A recording can name any class, number and position:
// each is checked before it is used, each loop ends with the bytes of the chunk, and nothing is allocated for a number alone.
func (t *decoding) readChunks(data []byte) error {
	if len(data) == 0 {
		return malformed("no chunk")
	}
	for start := 0; start < len(data); {
		if len(t.chunks) == maxChunks {
			return tooLarge("chunks", maxChunks+1, maxChunks)
		}
		if err := t.meter.Use(chunkBytes); err != nil {
			return err
		}
		c := &chunk{cursor: cursor{data: data[start:], start: start, limits: &t.opts.Limits}}
		t.chunks = append(t.chunks, c)
		r := chunkReader{chunk: c, t: t}
		if r.readChunk(); c.err != nil {
			return c.err
		}
		start += len(c.data)
	}
	return nil
}

// readChunk reads the chunk with which the data begin, and sets the data to those of the chunk.
func (r *chunkReader) readChunk() {
	size, pools, metadata := r.readHeader()
	if r.err != nil {
		return
	}
	r.data = r.data[:size]
	if r.readMetadata(metadata); r.err != nil {
		return
	}
	r.readPools(pools)
	r.lazy = true
	if stacks := r.pools[poolStacks].class; stacks != nil {
		for i := range stacks.fields {
			if f := &stacks.fields[i]; f.known == fieldFrames {
				r.stack.class = f.class
			}
		}
	}
}

// readHeader returns the size of the chunk, and the positions of its constants and its metadata.
func (r *chunkReader) readHeader() (size, pools, metadata int) {
	h := r.data
	switch {
	case len(h) < headerBytes:
		r.fail(0, "the header of a chunk has %d bytes, %d are left", headerBytes, len(h))
		return 0, 0, 0
	case string(h[:4]) != magic:
		r.fail(0, "a chunk does not begin with %q", magic)
	case binary.BigEndian.Uint16(h[4:]) != majorVersion:
		r.fail(0, "version %d of the format, only %d is known", binary.BigEndian.Uint16(h[4:]), majorVersion)
	case binary.BigEndian.Uint32(h[64:])&compressedIntegers == 0:
		r.fail(0, "the chunk has integers of fixed length (features %#x), which are not supported", binary.BigEndian.Uint32(h[64:]))
	case len(h) > math.MaxInt32: // See constant.pos.
		r.tooLarge("bytes of the recording after a chunk begins", len(h), math.MaxInt32)
	}
	number := func(name string, at int, least, most uint64) int {
		value := binary.BigEndian.Uint64(h[at:])
		if value < least || value > most {
			r.fail(0, "%s: %d, it must be from %d to %d", name, value, least, most)
		}
		return int(value)
	}
	size = number("size of the chunk", 8, headerBytes, uint64(len(h)))
	pools = number("position of the constant pools", 16, headerBytes, uint64(size)-1)
	metadata = number("position of the metadata", 24, headerBytes, uint64(size)-1)
	for i, field := range []*uint64{&r.startNanos, &r.durationNanos, &r.startTicks, &r.ticksPerSecond} {
		*field = binary.BigEndian.Uint64(h[32+8*i:])
	}
	r.ticksPerSecond = max(r.ticksPerSecond, 1)
	return size, pools, metadata
}

// use is for bytes that the chunk uses. It reports false after an error.
func (r *chunkReader) use(bytes int64) bool {
	if r.err == nil {
		r.err = r.t.meter.Use(bytes)
	}
	return r.err == nil
}

const second = 1_000_000_000

// duration converts a number of ticks to nanoseconds. The result is at most the largest int64.
func (c *chunk) duration(ticks uint64) uint64 {
	if c.ticksPerSecond == second {
		return min(ticks, math.MaxInt64)
	}
	high, low := bits.Mul64(ticks, second)
	if high >= c.ticksPerSecond {
		return math.MaxInt64
	}
	nanos, _ := bits.Div64(high, low, c.ticksPerSecond)
	return min(nanos, math.MaxInt64)
}

// time returns the time of an event in nanoseconds since 1970. If it would be before 1970 or after 2262, ok is false and the time is
// the start of the chunk. An event may begin before its chunk.
func (c *chunk) time(ticks uint64) (nanos uint64, ok bool) {
	if ahead := int64(ticks - c.startTicks); ahead >= 0 {
		nanos = c.startNanos + c.duration(uint64(ahead))
		ok = nanos <= math.MaxInt64
	} else {
		behind := c.duration(-uint64(ahead))
		nanos = c.startNanos - behind
		ok = behind < c.startNanos
	}
	if !ok || c.startNanos > math.MaxInt64 {
		return min(c.startNanos, math.MaxInt64-1), false
	}
	return min(nanos, math.MaxInt64-1), true
}

// fields reads the fields of a constant. It must not be one of java.lang.String.
func (c *chunk) fields(which poolID, constant *constant) *fields {
	c.values = fields{}
	c.pos = int(constant.pos)
	c.read(c.pools[which].class, &c.values, 0)
	return &c.values
}

// textBytes returns the largest size that a text can have in UTF-8. at is its position, which is the value of a field.
func (c *chunk) textBytes(at uint64) int {
	if !c.findText(at) {
		return 0
	}
	switch c.byte() {
	case textUTF8:
		return c.count("bytes of a string")
	case textUTF16, textLatin1:
		return 3 * c.count("bytes of a string")
	}
	return 0
}

// appendTextAt appends at most limit bytes or characters of a text to a buffer. The result can be invalid UTF-8. A low limit is for texts of
// which only short ones mean something: a recording can repeat references to a long one at little cost.
func (c *chunk) appendTextAt(to []byte, at uint64, limit int) []byte {
	if !c.findText(at) {
		return to
	}
	return c.appendText(to, limit)
}

// findText goes to a text. If it is a reference, it goes to the constant. It returns false if there is no text.
func (c *chunk) findText(at uint64) bool {
	c.pos = int(at)
	if at == 0 || at >= uint64(len(c.data)) { // An event that ends before its text has it behind its end.
		return false
	}
	if c.data[at] != textPool {
		return true
	}
	c.pos++
	constant := c.constant(poolStrings, c.long())
	if constant == nil {
		return false
	}
	c.pos = int(constant.pos)
	return true
}

// frames are the frames of a stack, the leaf first.
type frames struct {
	cursor
	// len is their number.
	len    int
	class  *class
	values fields
}

// frames returns the frames of a stack. They are valid until the next call.
func (c *chunk) frames(stack *fields) *frames {
	f := &c.stack
	f.cursor, f.len = c.at(int(stack[fieldFrames])), 0
	if stack[fieldFrames] != 0 && f.class != nil {
		f.len = f.count("frames of a stack")
	}
	return f
}

// next reads the next frame. There must be one.
func (f *frames) next() (method, line, frameType uint64) {
	f.read(f.class, &f.values, 0)
	return f.values[fieldMethod], f.values[fieldLine], f.values[fieldType]
}

// events reads the events of the chunk from the beginning.
func (c *chunk) events() *events {
	return &events{cursor: c.at(headerBytes), chunk: c, end: headerBytes}
}

// events are the events of a chunk, in the order of the recording.
type events struct {
	cursor
	chunk *chunk
	// class is that of the current event. It is nil for the metadata, the constants, and events of a class that does not exist.
	class *class
	// id is the number of the class.
	id uint64
	// end is the position of the next event.
	end    int
	values fields
}

// next reads the size and the class of the next event. It returns false at the end, and after an error.
func (e *events) next() bool {
	e.data = e.chunk.data
	if e.pos = e.end; e.pos == len(e.data) || e.err != nil {
		return false
	}
	at := e.pos
	size := e.long()
	if size == 0 || size > uint64(len(e.data)-at) {
		e.fail(at, "an event has %d bytes, %d are left in the chunk", size, len(e.data)-at)
		return false
	}
	e.end = at + int(size)
	e.data = e.data[:e.end]
	if id := e.long(); e.class == nil || id != e.id {
		e.class, e.id = e.chunk.classes[id], id
	}
	return e.err == nil
}

// fields reads the fields of the event. They are valid until the next call.
func (e *events) fields() *fields {
	e.values = fields{}
	if e.read(e.class, &e.values, 0); e.err != nil {
		e.err = fmt.Errorf("cannot read an event of %.64q: %w", e.class.name, e.err)
	}
	return &e.values
}

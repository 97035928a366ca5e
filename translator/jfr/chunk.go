// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import "fmt"

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

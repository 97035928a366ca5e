// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import "fmt"

// Values reads the fields of a constant. It must not be one of java.lang.String.
func (c *Chunk) Values(which Pool, constant *Constant) *Values {
	c.values = Values{}
	c.pos = int(constant.pos)
	c.read(c.pools[which].class, &c.values, 0)
	return &c.values
}

// Class returns the class with a number, or nil.
func (c *Chunk) Class(id uint64) *Class { return c.classes[id] }

// TextBytes returns the largest size that a text can have in UTF-8. at is its position, which is the value of a field.
func (c *Chunk) TextBytes(at uint64) int {
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

// AppendText appends at most limit bytes or characters of a text to a buffer. The result can be invalid UTF-8. A low limit is for texts of
// which only short ones mean something: a recording can repeat references to a long one at little cost.
func (c *Chunk) AppendText(to []byte, at uint64, limit int) []byte {
	if !c.findText(at) {
		return to
	}
	return c.appendText(to, limit)
}

// findText goes to a text. If it is a reference, it goes to the constant. It returns false if there is no text.
func (c *Chunk) findText(at uint64) bool {
	c.pos = int(at)
	if at == 0 || c.data[at] != textPool {
		return at != 0
	}
	c.pos++
	constant := c.Constant(stringPool, c.long())
	if constant == nil {
		return false
	}
	c.pos = int(constant.pos)
	return true
}

// Frames are the frames of a stack, the leaf first.
type Frames struct {
	cursor
	// Len is their number.
	Len    int
	class  *Class
	values Values
}

// Frames returns the frames of a stack. They are valid until the next call.
func (c *Chunk) Frames(stack *Values) *Frames {
	f := &c.frames
	f.cursor, f.Len = c.at(int(stack[frames])), 0
	if stack[frames] != 0 && f.class != nil {
		f.Len = f.count("frames of a stack")
	}
	return f
}

// Next reads the next frame. There must be one.
func (f *Frames) Next() (method, line, frameType uint64) {
	f.read(f.class, &f.values, 0)
	return f.values[Method], f.values[Line], f.values[Type]
}

// Events reads the events of the chunk from the beginning.
func (c *Chunk) Events() *Events {
	return &Events{cursor: c.at(headerBytes), chunk: c, end: headerBytes}
}

// Events are the events of a chunk, in the order of the recording.
type Events struct {
	cursor
	chunk *Chunk
	// Class is that of the current event. It is nil for the metadata, the constants, and events of a class that does not exist.
	Class *Class
	// ID is the number of the class.
	ID uint64
	// end is the position of the next event.
	end      int
	previous *Class
	known    uint64
	values   Values
}

// Next reads the size and the class of the next event. It returns false at the end, and after an error.
func (e *Events) Next() bool {
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
	e.ID = e.long()
	if e.previous == nil || e.ID != e.known {
		e.previous, e.known = e.chunk.classes[e.ID], e.ID
	}
	e.Class = e.previous
	return e.err == nil
}

// Values reads the fields of the event. They are valid until the next call.
func (e *Events) Values() *Values {
	e.values = Values{}
	if e.read(e.Class, &e.values, 0); e.err != nil {
		e.err = fmt.Errorf("cannot read an event of %.64q: %w", e.Class.Name, e.err)
	}
	return &e.values
}

// Err returns the first error.
func (e *Events) Err() error { return e.err }

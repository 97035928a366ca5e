// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfrtest

import (
	"encoding/binary"
	"strconv"
)

// Recording is a recording of one chunk under construction. Constants have the ids that the methods return, from 1 on.
type Recording struct {
	Header  Header
	Classes []Class
	// PoolOrder has the classes of the constants, in the order in which they are written.
	PoolOrder []int
	pools     map[int]*pool
	events    []byte
}

// Header is the header of a chunk. The sizes and positions are filled in.
type Header struct {
	StartNanos, DurationNanos, StartTicks, TicksPerSecond uint64
}

type pool struct {
	count int
	bytes []byte
	known map[string]uint64
}

// Frame types, as async-profiler numbers them.
const (
	Interpreted = iota
	JITCompiled
	Inlined
	Native
	CPP
	Kernel
	C1Compiled
)

// Start is when recordings begin unless they say otherwise.
const Start = 1_800_000_000_000_000_000

// New returns a recording of one second that has the frame types and no events.
func New() *Recording {
	r := &Recording{
		Header:    Header{StartNanos: Start, DurationNanos: 1e9, StartTicks: 1000, TicksPerSecond: 1e9},
		Classes:   Classes(),
		PoolOrder: []int{ClassString, ClassFrameType, ClassThreadState, ClassThread, ClassStackTrace, ClassMethod, ClassClass, ClassSymbol},
		pools:     map[int]*pool{},
	}
	for i, name := range []string{"Interpreted", "JIT compiled", "Inlined", "Native", "C++", "Kernel", "C1 compiled"} {
		r.ConstantAt(ClassFrameType, uint64(i), AppendText(nil, name))
	}
	return r
}

func (r *Recording) pool(class int) *pool {
	p := r.pools[class]
	if p == nil {
		p = &pool{known: map[string]uint64{}}
		r.pools[class] = p
	}
	return p
}

// Constant adds a constant with these fields, once, and returns its id.
func (r *Recording) Constant(class int, fields []byte) uint64 {
	p := r.pool(class)
	id, known := p.known[string(fields)]
	if !known {
		id = uint64(p.count) + 1
		r.ConstantAt(class, id, fields)
		p.known[string(fields)] = id
	}
	return id
}

// ConstantAt adds a constant with this id.
func (r *Recording) ConstantAt(class int, id uint64, fields []byte) {
	p := r.pool(class)
	p.count++
	p.bytes = append(AppendLong(p.bytes, id), fields...)
}

// Symbol adds a symbol.
func (r *Recording) Symbol(name string) uint64 { return r.Constant(ClassSymbol, AppendText(nil, name)) }

// Method adds a method of a class.
func (r *Recording) Method(class, name string) uint64 {
	of := r.Constant(ClassClass, AppendLong(nil, r.Symbol(class)))
	return r.Constant(ClassMethod, AppendLong(AppendLong(nil, of), r.Symbol(name)))
}

// Thread adds a thread of Java.
func (r *Recording) Thread(name string, id, osID uint64) uint64 {
	fields := AppendLong(AppendText(nil, "os "+name), osID)
	return r.Constant(ClassThread, AppendLong(AppendText(fields, name), id))
}

// State adds a state of threads.
func (r *Recording) State(name string) uint64 {
	return r.Constant(ClassThreadState, AppendText(nil, name))
}

// Frame is a frame of a stack.
type Frame struct {
	Method uint64
	Line   uint64
	Type   uint64
}

// Stack adds a stack, the leaf first.
func (r *Recording) Stack(truncated bool, frames ...Frame) uint64 {
	fields := []byte{0}
	if truncated {
		fields[0] = 1
	}
	fields = AppendLong(fields, uint64(len(frames)))
	for _, f := range frames {
		for _, value := range []uint64{f.Method, f.Line, 0, f.Type} {
			fields = AppendLong(fields, value)
		}
	}
	return r.Constant(ClassStackTrace, fields)
}

// Event adds an event of a class whose fields are all numbers.
func (r *Recording) Event(class int, values ...uint64) {
	var fields []byte
	for _, value := range values {
		fields = AppendLong(fields, value)
	}
	r.RawEvent(class, fields)
}

// Setting adds an event for a setting of a class.
func (r *Recording) Setting(class int, name, value string) {
	r.SettingAt(0, class, name, value)
}

// SettingAt adds an event for a setting of a class from a time on.
func (r *Recording) SettingAt(ticks uint64, class int, name, value string) {
	r.RawSetting(ticks, class, name, AppendText(nil, value))
}

// RawSetting is SettingAt with a value in any encoding.
func (r *Recording) RawSetting(ticks uint64, class int, name string, value []byte) {
	fields := append(AppendLong(nil, ticks), 0, 0, 0) // duration, eventThread, stackTrace
	r.RawEvent(ClassActiveSetting, append(AppendText(AppendLong(fields, uint64(class)), name), value...))
}

// RawEvent adds an event with these fields.
func (r *Recording) RawEvent(class int, fields []byte) {
	r.events = appendSized(r.events, append(AppendLong(nil, uint64(class)), fields...))
}

// appendSized appends an event with its size, which counts itself.
func appendSized(to, content []byte) []byte {
	size := uint64(len(content)) + 1
	for len(AppendLong(nil, size))+len(content) != int(size) {
		size++
	}
	return append(AppendLong(to, size), content...)
}

// HeaderBytes is the size of the header of a chunk.
const HeaderBytes = 68

// Bytes returns the recording.
func (r *Recording) Bytes() []byte {
	out := append(make([]byte, HeaderBytes), r.events...)
	metadata := len(out)
	out = appendSized(out, r.metadata())
	pools := len(out)
	out = appendSized(out, r.checkpoint())
	copy(out, "FLR\x00")
	binary.BigEndian.PutUint16(out[4:], 2)
	for i, value := range []uint64{
		uint64(len(out)), uint64(pools), uint64(metadata), r.Header.StartNanos, r.Header.DurationNanos, r.Header.StartTicks, r.Header.TicksPerSecond,
	} {
		binary.BigEndian.PutUint64(out[8+8*i:], value)
	}
	binary.BigEndian.PutUint32(out[64:], 1)
	return out
}

func (r *Recording) checkpoint() []byte {
	out := []byte{1, 0, 0, 0, 1} // type, start, duration, delta, mask
	out = AppendLong(out, uint64(len(r.PoolOrder)))
	for _, class := range r.PoolOrder {
		p := r.pool(class)
		out = AppendLong(AppendLong(out, uint64(class)), uint64(p.count))
		out = append(out, p.bytes...)
	}
	return out
}

// metadata writes the tree of classes: each element has a name, attributes and children.
func (r *Recording) metadata() []byte {
	m := &metadata{index: map[string]uint64{}}
	m.element("root", nil, 2)
	m.element("metadata", nil, len(r.Classes))
	for _, class := range r.Classes {
		attributes := []string{"id", strconv.Itoa(class.ID), "name", class.Name}
		if class.ID >= ClassExecutionSample {
			attributes = append(attributes, "superType", "jdk.jfr.Event")
		}
		m.element("class", attributes, len(class.Fields))
		for _, field := range class.Fields {
			attributes := []string{"name", field.Name, "class", strconv.Itoa(field.Class)}
			if field.Pool {
				attributes = append(attributes, "constantPool", "true")
			}
			if field.Array {
				attributes = append(attributes, "dimension", "1")
			}
			m.element("field", attributes, 0)
		}
	}
	m.element("region", []string{"locale", "en_US"}, 0)
	out := []byte{0, 0, 0, 0} // type, start, duration, id
	out = AppendLong(out, uint64(len(m.strings)))
	for _, text := range m.strings {
		out = AppendText(out, text)
	}
	return append(out, m.tree...)
}

type metadata struct {
	strings []string
	index   map[string]uint64
	tree    []byte
}

func (m *metadata) name(text string) {
	i, known := m.index[text]
	if !known {
		i = uint64(len(m.strings))
		m.index[text], m.strings = i, append(m.strings, text)
	}
	m.tree = AppendLong(m.tree, i)
}

func (m *metadata) element(name string, attributes []string, children int) {
	m.name(name)
	m.tree = AppendLong(m.tree, uint64(len(attributes)/2))
	for _, text := range attributes {
		m.name(text)
	}
	m.tree = AppendLong(m.tree, uint64(children))
}

// AppendLong appends a number: seven bits in a byte, and all eight in the ninth.
func AppendLong(to []byte, value uint64) []byte {
	for range 8 {
		if value < 0x80 {
			return append(to, byte(value))
		}
		to = append(to, byte(value)|0x80)
		value >>= 7
	}
	return append(to, byte(value))
}

// Reference returns a reference to a constant of java.lang.String.
func Reference(id uint64) []byte { return AppendLong([]byte{2}, id) }

// AppendText appends a string in UTF-8.
func AppendText(to []byte, text string) []byte {
	return append(AppendLong(append(to, 3), uint64(len(text))), text...)
}

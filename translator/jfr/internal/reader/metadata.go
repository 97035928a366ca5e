// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"math"
	"strconv"
)

const (
	// maxFields is the maximum number of fields of a class. The JDK has up to 30.
	maxFields = 256
	// classBytes and fieldBytes are the memory of a class and of a field, while their lists grow.
	classBytes = 384
	fieldBytes = 128
	// stringBytes is the memory of a string of the metadata, and textFactor that of its text as a multiple of its size.
	stringBytes = 48
	textFactor  = 8
)

// readMetadata reads the classes of the chunk. They are a tree of elements, each before its children. So a field belongs to the last
// class before it.
func (r *reader) readMetadata(pos int) {
	r.pos = pos
	r.skipLongs(5) // size, type, start, duration, id
	r.readStrings()
	r.chunk.classes = map[uint64]*Class{}
	r.classes = r.classes[:0]
	for left := int64(1); left > 0 && r.err == nil; left-- {
		at := r.pos
		e := r.element()
		left += int64(r.count("children of an element"))
		switch e.kind {
		case "class":
			r.addClass(at, &e)
		case "field":
			r.addField(at, &e)
		}
	}
	for _, class := range r.classes {
		r.resolve(class)
	}
}

// readStrings reads the strings to which the elements refer.
func (r *reader) readStrings() {
	n := r.count("strings")
	first := r.pos
	for i := 0; i < n && r.err == nil; i++ {
		r.skipText()
	}
	if !r.need(stringBytes*int64(n) + textFactor*int64(r.pos-first)) {
		return
	}
	r.pos = first
	var all []byte
	ends := make([]int, n)
	for i := range ends {
		all = r.appendText(all, math.MaxInt)
		ends[i] = len(all)
	}
	text, start := string(all), 0
	r.strings = make([]string, n)
	for i, end := range ends {
		r.strings[i], start = text[start:end], end
	}
}

// element is an element of the metadata, with the attributes of classes and fields.
type element struct {
	kind, id, name, class string
	pool, array           bool
}

func (r *reader) element() (e element) {
	e.kind = r.string()
	for n := r.count("attributes of an element"); n > 0 && r.err == nil; n-- {
		key, value := r.string(), r.string()
		switch key {
		case "id":
			e.id = value
		case "name":
			e.name = value
		case "class":
			e.class = value
		case "constantPool":
			e.pool = value == "true"
		case "dimension":
			e.array = value != "0"
		}
	}
	return e
}

// string reads a reference to a string.
func (r *reader) string() string {
	at := r.pos
	i := r.long()
	if i >= uint64(len(r.strings)) {
		r.fail(at, "the metadata refer to string %d, there are %d", i, len(r.strings))
		return ""
	}
	return r.strings[i]
}

func (r *reader) addClass(at int, e *element) {
	id, err := strconv.ParseUint(e.id, 10, 63)
	if err != nil || e.name == "" {
		r.fail(at, "a class has the id %.32q and the name %.64q", e.id, e.name)
	}
	if r.err != nil || !r.need(classBytes) {
		return
	}
	class := &Class{Name: e.name, Kind: r.opts.Kind(e.name)}
	r.chunk.classes[id] = class
	r.classes = append(r.classes, class)
}

func (r *reader) addField(at int, e *element) {
	id, err := strconv.ParseUint(e.class, 10, 63)
	if err != nil || e.name == "" || len(r.classes) == 0 {
		r.fail(at, "a field has the class %.32q and the name %.64q", e.class, e.name)
	}
	if r.err != nil || !r.need(fieldBytes) {
		return
	}
	class := r.classes[len(r.classes)-1]
	if len(class.fields) == maxFields {
		r.tooLarge("fields of a class", maxFields+1, maxFields)
		return
	}
	class.fields = append(class.fields, field{id: id, pool: e.pool, array: e.array, field: fieldNames[e.name]})
}

// resolve finds the classes of the fields, and how they are written.
func (r *reader) resolve(class *Class) {
	class.longs = len(class.fields)
	for i := range class.fields {
		f := &class.fields[i]
		if f.class = r.chunk.classes[f.id]; f.class == nil {
			f.class = &missingClass
		}
		switch f.form = forms[f.class.Name]; {
		case f.pool:
			f.form = varint
		case f.form == text && f.field == TraceLow:
			f.field = TraceText
		case f.form == text && f.field == SpanID:
			f.field = SpanText
		}
		if f.form != varint || f.array {
			class.longs = 0
		}
	}
}

// missingClass is the class of fields whose class is not in the metadata. It has no fields, so no object of it can be read.
var missingClass = Class{Name: "(missing)"}

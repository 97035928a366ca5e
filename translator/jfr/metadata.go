// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

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
func (r *chunkReader) readMetadata(pos int) {
	r.pos = pos
	r.skipLongs(5) // size, type, start, duration, id
	r.readStrings()
	r.classes = map[uint64]*class{}
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
	for _, class := range r.ordered {
		r.resolve(class)
	}
}

// readStrings reads the strings to which the elements refer.
func (r *chunkReader) readStrings() {
	n := r.count("strings")
	first := r.pos
	for i := 0; i < n && r.err == nil; i++ {
		r.skipText()
	}
	if !r.use(stringBytes*int64(n) + textFactor*int64(r.pos-first)) {
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

func (r *chunkReader) element() (e element) {
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
func (r *chunkReader) string() string {
	at := r.pos
	i := r.long()
	if i >= uint64(len(r.strings)) {
		r.fail(at, "the metadata refer to string %d, there are %d", i, len(r.strings))
		return ""
	}
	return r.strings[i]
}

func (r *chunkReader) addClass(at int, e *element) {
	id, err := strconv.ParseUint(e.id, 10, 63)
	if err != nil || e.name == "" {
		r.fail(at, "a class has the id %.32q and the name %.64q", e.id, e.name)
	}
	if r.err != nil || !r.use(classBytes) {
		return
	}
	class := &class{name: e.name, event: eventTypes[e.name]}
	r.classes[id] = class
	r.ordered = append(r.ordered, class)
}

func (r *chunkReader) addField(at int, e *element) {
	id, err := strconv.ParseUint(e.class, 10, 63)
	if err != nil || e.name == "" || len(r.ordered) == 0 {
		r.fail(at, "a field has the class %.32q and the name %.64q", e.class, e.name)
	}
	if r.err != nil || !r.use(fieldBytes) {
		return
	}
	class := r.ordered[len(r.ordered)-1]
	if len(class.fields) == maxFields {
		r.tooLarge("fields of a class", maxFields+1, maxFields)
		return
	}
	class.fields = append(class.fields, field{id: id, pool: e.pool, array: e.array, known: fieldNames[e.name]})
}

// resolve finds the classes of the fields, and how they are written.
func (r *chunkReader) resolve(class *class) {
	class.longs = len(class.fields)
	for i := range class.fields {
		f := &class.fields[i]
		if f.class = r.classes[f.id]; f.class == nil {
			f.class = &missingClass
		}
		if f.form = forms[f.class.name]; f.pool {
			f.form = formVarint
		}
		f.checkForm()
		if f.form != formVarint || f.array {
			class.longs = 0
		}
	}
}

// missingClass is the class of fields whose class is not in the metadata. It has no fields, so no object of it can be read.
var missingClass = class{name: "(missing)"}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfrtest

import "strconv"

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

// AppendReference appends a reference to a constant of java.lang.String.
func AppendReference(to []byte, id uint64) []byte { return AppendLong(append(to, 2), id) }

// AppendText appends a string in UTF-8.
func AppendText(to []byte, text string) []byte {
	return append(AppendLong(append(to, 3), uint64(len(text))), text...)
}

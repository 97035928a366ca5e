// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// maxText limits the text of a tree in bytes.
const maxText = 64 << 20

// text is a text of a tree, up to its limit. After an error it does not change.
type text struct {
	tree  *tree
	bytes []byte
	err   error
	path  []uint32
}

// grow returns whether n more bytes fit, after it has allocated memory for them.
func (t *text) grow(n int) bool {
	size := len(t.bytes) + n
	switch {
	case t.err != nil:
		return false
	case size > maxText:
		t.err = fail(http.StatusUnprocessableEntity, "the text is too large: it has more than %d bytes", maxText)
		return false
	case size <= cap(t.bytes):
		return true
	}
	capacity := min(max(2*cap(t.bytes), size, 4<<10), maxText)
	// Both buffers are in memory during the copy, and the answer has a compressed copy.
	if t.err = t.tree.work.Need(int64(cap(t.bytes) + 2*capacity)); t.err != nil {
		return false
	}
	t.bytes = append(make([]byte, 0, capacity), t.bytes...)
	return true
}

func (t *text) add(parts ...string) {
	for _, s := range parts {
		if t.grow(len(s)) {
			t.bytes = append(t.bytes, s...)
		}
	}
}

// number adds a number.
func (t *text) number(n int64) { t.add(strconv.FormatInt(n, 10)) }

// quoted adds a text as JSON.
func (t *text) quoted(s string) {
	if t.grow(6*len(s) + 2) { // the maximum length after escaping
		quoted, _ := json.Marshal(s) // never fails
		t.bytes = append(t.bytes, quoted...)
	}
}

// pathOf returns the nodes from below the root to a node. It is valid until the next call.
func (t *text) pathOf(node int) []uint32 {
	t.path = t.path[:0]
	for at := uint32(node); at != 0; at = t.tree.nodes.Rows[at].parent {
		t.path = append(t.path, at)
	}
	slices.Reverse(t.path)
	return t.path
}

// stacks calls visit with each node that has a value of its own above 0.
func (t *text) stacks(visit func(node int, value int64)) {
	for i := range t.tree.values {
		if v := t.tree.values[i][0].self; v > 0 && t.err == nil {
			visit(i, v)
		}
	}
}

// collapsed returns a line for each stack: its functions, separated by semicolons, and its value. It leaves out values that are not above 0.
func (t *tree) collapsed() ([]byte, error) {
	out := text{tree: t}
	names := strings.NewReplacer(";", ":", "\n", " ", "\r", " ")
	out.stacks(func(node int, value int64) {
		for i, at := range out.pathOf(node) {
			if i > 0 {
				out.add(";")
			}
			out.add(names.Replace(t.nameOf(at)))
		}
		if node == 0 {
			out.add("[no stack]")
		}
		out.add(" ")
		out.number(value)
		out.add("\n")
	})
	return out.bytes, out.err
}

// speedscopeUnits are the units of speedscope.
var speedscopeUnits = map[string]bool{"nanoseconds": true, "microseconds": true, "milliseconds": true, "seconds": true, "bytes": true}

// speedscope returns a file for speedscope. It leaves out values that are not above 0.
func (t *tree) speedscope(title, unit string) ([]byte, error) {
	out := text{tree: t}
	out.add(`{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"otelpprof","name":`)
	out.quoted(title)
	out.add(`,"activeProfileIndex":0,"shared":{"frames":[`)
	for i, name := range t.names.Rows {
		if i > 0 {
			out.add(",")
		}
		out.add(`{"name":`)
		out.quoted(name)
		if at := t.places[i]; at.file != "" {
			out.add(`,"file":`)
			out.quoted(at.file)
			out.add(`,"line":`)
			out.number(at.line)
		}
		out.add("}")
	}
	if !speedscopeUnits[unit] {
		unit = "none"
	}
	out.add(`]},"profiles":[{"type":"sampled","name":`)
	out.quoted(title)
	out.add(`,"unit":"`, unit, `","startValue":0,"samples":[`)
	separator, total := "", int64(0)
	out.stacks(func(node int, value int64) {
		out.add(separator, "[")
		for i, at := range out.pathOf(node) {
			if i > 0 {
				out.add(",")
			}
			out.number(int64(t.nodes.Rows[at].name))
		}
		out.add("]")
		separator = ","
		total += value
	})
	out.add(`],"weights":[`)
	separator = ""
	out.stacks(func(_ int, value int64) {
		out.add(separator)
		out.number(value)
		separator = ","
	})
	out.add(`],"endValue":`)
	out.number(total)
	out.add("}]}\n")
	return out.bytes, out.err
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"fmt"
	"math"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// The positions of fields of a function, and their size.
const (
	nameAt      = 4
	filesAt     = 20
	linesAt     = 24
	valuesAt    = 28
	unitAt      = 32
	startLineAt = 36
	funcDataAt  = 43
	bodySize    = 44
	// callValues is the number of the values that say which call was inlined, and callData that of the tree of these calls.
	callValues = 2
	callData   = 3
	callSize   = 16
)

func (t *pclntab) readFunctions() error {
	for i := range t.functions {
		entry := t.bodies[8*i:]
		low, body, high := t.order.Uint32(entry), t.order.Uint32(entry[4:]), t.order.Uint32(entry[8:])
		if uint64(body)+bodySize > uint64(len(t.bodies)) || low >= high {
			continue
		}
		t.entry = t.text + uint64(low)
		if err := t.readFunction(t.bodies[body:], uint64(high-low)); err != nil {
			return err
		}
		if err := t.builder.Err(); err != nil {
			return err
		}
	}
	return nil
}

// readFunction adds a function. What is malformed in it is missing.
func (t *pclntab) readFunction(body []byte, size uint64) (err error) {
	field := func(at int) uint32 { return t.order.Uint32(body[at:]) }
	name := elffile.Text(t.names, uint64(field(nameAt)))
	if name == "" {
		return nil
	}
	startLine := uint32(0)
	if t.magic >= magic120 {
		startLine = field(startLineAt)
	}
	t.root = t.builder.Node(t.builder.Function(name, name, startLine&math.MaxInt32), 0, index.Place{})
	t.builder.Range(index.LayerDebug, t.entry, t.entry+size, t.root)
	t.unit = field(unitAt)
	if t.fileSteps, err = t.readSteps(t.fileSteps[:0], field(filesAt)); err != nil {
		return t.count()
	}
	if t.lineSteps, err = t.readSteps(t.lineSteps[:0], field(linesAt)); err != nil {
		return t.count()
	}
	t.addRows(size)
	t.addCalls(body)
	return t.count()
}

// count counts the work on a function.
func (t *pclntab) count() error {
	if err := t.memory.Need(3 * 16 * int64(cap(t.fileSteps)+cap(t.lineSteps)+cap(t.callSteps))); err != nil {
		return err
	}
	return t.memory.Advance(16 * int64(1+len(t.fileSteps)+len(t.lineSteps)+len(t.callSteps)))
}

// addRows adds the rows of a function: both tables together.
func (t *pclntab) addRows(size uint64) {
	rows := t.builder.Sequence()
	for at, f, l := uint64(0), 0, 0; at < size && f < len(t.fileSteps) && l < len(t.lineSteps); {
		rows.Row(t.entry+at, t.place(t.fileSteps[f].value, t.lineSteps[l].value))
		at = min(t.fileSteps[f].end, t.lineSteps[l].end)
		if t.fileSteps[f].end <= at {
			f++
		}
		if t.lineSteps[l].end <= at {
			l++
		}
	}
	rows.End(t.entry + size)
}

// place returns a place by the number of a file in the unit.
func (t *pclntab) place(file, line int32) index.Place {
	if file < 0 || line < 0 {
		return index.Place{}
	}
	offset := 4 * (uint64(t.unit) + uint64(file))
	if offset+4 > uint64(len(t.units)) {
		return index.Place{}
	}
	path := t.order.Uint32(t.units[offset:])
	text, known := t.paths[path]
	if !known {
		text = t.builder.Text(elffile.Text(t.files, uint64(path)))
		t.paths[path] = text
	}
	return index.Place{File: text, Line: uint32(line)}
}

// addCalls adds the inlined functions of a function.
func (t *pclntab) addCalls(body []byte) {
	t.callSteps, t.tree = t.callSteps[:0], nil
	values := t.order.Uint32(body[valuesAt:])
	data := uint64(body[funcDataAt])
	rest := body[bodySize:]
	if values <= callValues || data <= callData || (uint64(values)+data)*4 > uint64(len(rest)) || t.inline == nil {
		return
	}
	steps := t.order.Uint32(rest[4*callValues:])
	tree := t.order.Uint32(rest[4*(uint64(values)+callData):])
	if steps == 0 || uint64(tree) >= uint64(len(t.inline)) {
		return
	}
	var err error
	if t.callSteps, err = t.readSteps(t.callSteps, steps); err != nil {
		return
	}
	t.tree, t.nodes = t.inline[tree:], map[int32]uint32{}
	begin := uint64(0)
	for _, s := range t.callSteps {
		if s.value >= 0 {
			if node, err := t.call(s.value, 0); err == nil {
				t.builder.Range(index.LayerDebug, t.entry+begin, t.entry+s.end, node)
			}
		}
		begin = s.end
	}
}

// maxDepth limits how deep functions are inlined.
const maxDepth = 200

// call returns the node of an inlined call.
func (t *pclntab) call(number int32, depth int) (uint32, error) {
	if number < 0 {
		return t.root, nil
	}
	if node, known := t.nodes[number]; known {
		return node, nil
	}
	offset := uint64(number) * callSize
	if depth > maxDepth || offset+callSize > uint64(len(t.tree)) {
		return 0, fmt.Errorf("%w has inlined functions in a circle", errPclntab)
	}
	entry := t.tree[offset:]
	name := elffile.Text(t.names, uint64(t.order.Uint32(entry[4:])))
	parentAt, startLine := uint64(t.order.Uint32(entry[8:])), t.order.Uint32(entry[12:])
	parent, err := t.call(at(t.callSteps, parentAt), depth+1)
	if err != nil {
		return 0, err
	}
	place := t.place(at(t.fileSteps, parentAt), at(t.lineSteps, parentAt))
	node := t.builder.Node(t.builder.Function(name, name, startLine&math.MaxInt32), parent, place)
	t.nodes[number] = node
	return node, nil
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"fmt"
	"math"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// pclntabReader reads the functions of a table.
type pclntabReader struct {
	*pclntab
	builder *index.Builder
	memory  *meter.Meter
	// paths are those of files that are in the index already.
	paths map[uint32]uint32

	// What belongs to the function that is read. The memory is used again for the next.
	lines, files, calls []step
	entry               uint64
	unit                uint32
	tree                []byte
	root                uint32
	nodes               map[int32]uint32
}

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

func (r *pclntabReader) readFunctions() error {
	for i := range r.functions {
		entry := r.bodies[8*i:]
		low, body, high := r.order.Uint32(entry), r.order.Uint32(entry[4:]), r.order.Uint32(entry[8:])
		if uint64(body)+bodySize > uint64(len(r.bodies)) || low >= high {
			continue
		}
		r.entry = r.text + uint64(low)
		if err := r.readFunction(r.bodies[body:], uint64(high-low)); err != nil {
			return err
		}
		if err := r.builder.Err(); err != nil {
			return err
		}
	}
	return nil
}

// readFunction adds a function. What is malformed in it is missing.
func (r *pclntabReader) readFunction(body []byte, size uint64) (err error) {
	field := func(at int) uint32 { return r.order.Uint32(body[at:]) }
	name := elffile.Text(r.names, uint64(field(nameAt)))
	if name == "" {
		return nil
	}
	startLine := uint32(0)
	if r.magic >= magic120 {
		startLine = field(startLineAt)
	}
	r.root = r.builder.Node(r.builder.Function(name, name, startLine&math.MaxInt32), 0, index.Place{})
	r.builder.Range(index.LayerDebug, r.entry, r.entry+size, r.root)
	r.unit = field(unitAt)
	if r.files, err = r.readSteps(r.files[:0], field(filesAt)); err != nil {
		return r.count()
	}
	if r.lines, err = r.readSteps(r.lines[:0], field(linesAt)); err != nil {
		return r.count()
	}
	r.addRows(size)
	r.addCalls(body)
	return r.count()
}

// count counts the work on a function.
func (r *pclntabReader) count() error {
	if err := r.memory.Need(3 * 16 * int64(cap(r.files)+cap(r.lines)+cap(r.calls))); err != nil {
		return err
	}
	return r.memory.Advance(16 * int64(1+len(r.files)+len(r.lines)+len(r.calls)))
}

// addRows adds the rows of a function: both tables together.
func (r *pclntabReader) addRows(size uint64) {
	rows := r.builder.Sequence()
	for at, f, l := uint64(0), 0, 0; at < size && f < len(r.files) && l < len(r.lines); {
		rows.Row(r.entry+at, r.place(r.files[f].value, r.lines[l].value))
		at = min(r.files[f].end, r.lines[l].end)
		if r.files[f].end <= at {
			f++
		}
		if r.lines[l].end <= at {
			l++
		}
	}
	rows.End(r.entry + size)
}

// place returns a place by the number of a file in the unit.
func (r *pclntabReader) place(file, line int32) index.Place {
	if file < 0 || line < 0 {
		return index.Place{}
	}
	offset := 4 * (uint64(r.unit) + uint64(file))
	if offset+4 > uint64(len(r.units)) {
		return index.Place{}
	}
	path := r.order.Uint32(r.units[offset:])
	text, known := r.paths[path]
	if !known {
		text = r.builder.Text(elffile.Text(r.pclntab.files, uint64(path)))
		r.paths[path] = text
	}
	return index.Place{File: text, Line: uint32(line)}
}

// addCalls adds the inlined functions of a function.
func (r *pclntabReader) addCalls(body []byte) {
	r.calls, r.tree = r.calls[:0], nil
	values := r.order.Uint32(body[valuesAt:])
	data := uint64(body[funcDataAt])
	rest := body[bodySize:]
	if values <= callValues || data <= callData || (uint64(values)+data)*4 > uint64(len(rest)) || r.inline == nil {
		return
	}
	steps := r.order.Uint32(rest[4*callValues:])
	tree := r.order.Uint32(rest[4*(uint64(values)+callData):])
	if steps == 0 || uint64(tree) >= uint64(len(r.inline)) {
		return
	}
	var err error
	if r.calls, err = r.readSteps(r.calls, steps); err != nil {
		return
	}
	r.tree, r.nodes = r.inline[tree:], map[int32]uint32{}
	begin := uint64(0)
	for _, s := range r.calls {
		if s.value >= 0 {
			if node, err := r.call(s.value, 0); err == nil {
				r.builder.Range(index.LayerDebug, r.entry+begin, r.entry+s.end, node)
			}
		}
		begin = s.end
	}
}

// maxDepth limits how deep functions are inlined.
const maxDepth = 200

// call returns the node of an inlined call.
func (r *pclntabReader) call(number int32, depth int) (uint32, error) {
	if number < 0 {
		return r.root, nil
	}
	if node, known := r.nodes[number]; known {
		return node, nil
	}
	offset := uint64(number) * callSize
	if depth > maxDepth || offset+callSize > uint64(len(r.tree)) {
		return 0, fmt.Errorf("%w has inlined functions in a circle", errPclntab)
	}
	entry := r.tree[offset:]
	name := elffile.Text(r.names, uint64(r.order.Uint32(entry[4:])))
	parentAt, startLine := uint64(r.order.Uint32(entry[8:])), r.order.Uint32(entry[12:])
	parent, err := r.call(at(r.calls, parentAt), depth+1)
	if err != nil {
		return 0, err
	}
	place := r.place(at(r.files, parentAt), at(r.lines, parentAt))
	node := r.builder.Node(r.builder.Function(name, name, startLine&math.MaxInt32), parent, place)
	r.nodes[number] = node
	return node, nil
}

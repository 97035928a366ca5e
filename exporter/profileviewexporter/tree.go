// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// rootName is the name of the root.
const rootName = "total"

// otherName is the name of the nodes for what is not drawn.
const otherName = "other"

// tree has a node for each stack of function names, with the values of one or two sides.
type tree struct {
	// names are the names of functions. Name 0 is that of the root.
	names store.Set[string]
	// places are where functions are defined, by name.
	places []place
	// nodes are the nodes. Node 0 is the root. Each node comes after its parent.
	nodes store.Set[node]
	// values are the values, by node and side. profiles is the number of profiles with a selected sample, by side.
	values   [][2]sum
	profiles [2]int
	// steps counts the frames of all stacks.
	steps int

	work *meter.Meter
}

type node struct{ parent, name uint32 }

// sum has the values of a node without its children, and with them.
type sum struct{ self, total int64 }

// place is the file of a function and the line where it starts.
type place struct {
	file string
	line int64
}

// tree returns the merged samples of one or two selections.
func (c *call) tree(sides ...*selection) (*tree, error) {
	t := &tree{work: c.work, places: []place{{}}, values: make([][2]sum, 1)}
	t.names.Add(rootName, c.work)
	t.nodes.Add(node{}, c.work)
	for side, s := range sides {
		if err := t.add(s, side); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// name returns the index of the name of a function. A function without a known place gets this one. After an error of work, which the
// caller must look at, the index is wrong.
func (t *tree) name(text string, at place) uint32 {
	text, at.file = attributevalue.Cut(text, maxName), attributevalue.Cut(at.file, maxName)
	if text == rootName || text == otherName {
		text += " " // The root and what is not drawn have these names, and no function.
	}
	index := t.names.Add(text, t.work)
	if t.work.Err() != nil { // The name can have no place.
		return 0
	}
	if int(index) == len(t.places) {
		t.places = store.Append(t.places, at, t.work)
		_ = t.work.Use(int64(len(text) + len(at.file))) // The caller looks at the error.
	} else if t.places[index].file == "" {
		t.places[index] = at
	}
	return index
}

// maxName limits the length of names in bytes: many nodes can have a long name.
const maxName = 1024

// child returns the child of a node with a name. After an error of work, it is wrong.
func (t *tree) child(parent, name uint32) uint32 {
	index := t.nodes.Add(node{parent, name}, t.work)
	if int(index) == len(t.values) {
		t.values = store.Append(t.values, [2]sum{}, t.work)
	}
	return index
}

// sum adds up the values of the children. With onlyPositive, negative values count as 0: they cannot be drawn.
func (t *tree) sum(onlyPositive bool) {
	for i := len(t.values) - 1; i >= 0; i-- {
		for side := range t.values[i] {
			v := &t.values[i][side]
			if onlyPositive {
				v.self = max(v.self, 0)
			}
			v.total += v.self
			if i > 0 {
				t.values[t.nodes.Rows[i].parent][side].total += v.total
			}
		}
	}
}

// totals returns the sum of all values, by side. It is valid after [tree.sum].
func (t *tree) totals() [2]int64 { return [2]int64{t.values[0][0].total, t.values[0][1].total} }

func (t *tree) nameOf(index uint32) string { return t.names.Rows[t.nodes.Rows[index].name] }

// add adds the samples of a selection to a side. Of a profile with several selected sample types, it adds the first.
func (t *tree) add(s *selection, side int) error {
	if err := s.keepLatest(t.work, oneStep); err != nil {
		return err
	}
	for i := range s.parts {
		a := adder{tree: t, table: s.parts[i].table, side: side}
		if err := a.add(s.parts[i].profiles); err != nil {
			return err
		}
	}
	return s.filter.err()
}

// adder adds a part of a selection.
type adder struct {
	*tree
	table *store.Table
	side  int
	// functions are the names of functions plus 1, and nodes the nodes of stacks plus 1.
	functions, nodes []uint32
	frames           []uint32
}

// maxFrames limits the frames of all stacks of a request. It takes a few seconds.
const maxFrames = 1 << 27

func (a *adder) add(profiles []selectedProfile) error {
	const stackBytes, functionBytes = 8 + 4, 4
	stacks := a.table.Stacks.Rows
	bytes := stackBytes*int64(len(stacks)) + functionBytes*int64(len(a.table.Functions.Rows))
	if err := a.work.Use(bytes); err != nil {
		return err
	}
	defer func() { a.work.Set(a.work.Used() - bytes) }()
	self, err := a.selfValues(profiles)
	if err != nil {
		return err
	}
	a.functions = make([]uint32, len(a.table.Functions.Rows))
	a.nodes = make([]uint32, len(stacks))
	const needed = 1
	for i := len(stacks) - 1; i > 0; i-- {
		if self[i] != 0 || a.nodes[i] == needed {
			a.nodes[i] = needed
			a.nodes[stacks[i].Caller] = needed
		}
	}
	a.nodes[0] = 1
	a.values[0][a.side].self += self[0]
	for i := 1; i < len(stacks); i++ {
		if a.nodes[i] == 0 {
			continue
		}
		at, err := a.location(a.nodes[stacks[i].Caller]-1, stacks[i].Location)
		if err != nil {
			return err
		}
		a.nodes[i] = at + 1
		a.values[at][a.side].self += self[i]
	}
	return nil
}

// selfValues returns the sums of the selected values, by stack.
func (a *adder) selfValues(profiles []selectedProfile) ([]int64, error) {
	self := make([]int64, len(a.table.Stacks.Rows))
	for i := range profiles {
		p := &profiles[i]
		if err := a.work.Continue(); err != nil {
			return nil, err
		}
		if len(p.columns) == 0 {
			continue
		}
		column, counts := p.columns[0], p.keeps == nil
		for s := range p.samples {
			self[s.Stack] += s.Values[column]
			counts = true
		}
		if counts {
			a.profiles[a.side]++
		}
	}
	return self, nil
}

// location returns the node below at for the lines of a location, the outermost call first.
func (a *adder) location(at, location uint32) (uint32, error) {
	l := &a.table.Locations.Rows[location]
	a.frames = a.frames[:0]
	for line := l.Lines; line != 0; {
		row := &a.table.Lines.Rows[line]
		a.frames = store.Append(a.frames, a.function(row, l), a.work)
		line = row.Next
	}
	if len(a.frames) == 0 {
		a.frames = append(a.frames, a.name(a.placeOf(l), place{}))
	}
	if a.steps += len(a.frames); a.steps > maxFrames {
		return 0, fail(http.StatusUnprocessableEntity, "the stacks have more than %d frames together: select a shorter time", maxFrames)
	}
	if err := a.work.Advance(int64(len(a.frames))); err != nil {
		return 0, err
	}
	for _, name := range slices.Backward(a.frames) {
		at = a.child(at, name)
	}
	return at, a.work.Err()
}

// function returns the name of the function of a line.
func (a *adder) function(line *store.Line, l *store.Location) uint32 {
	if known := a.functions[line.Function]; known != 0 {
		return known - 1
	}
	f := &a.table.Functions.Rows[line.Function]
	text := cmp.Or(a.table.Text(f.Name), a.table.Text(f.SystemName))
	if text == "" {
		return a.name(a.placeOf(l), place{})
	}
	name := a.name(text, place{file: a.table.Text(f.File), line: cmp.Or(f.StartLine, line.Line)})
	a.functions[line.Function] = name + 1
	return name
}

// placeOf returns the binary of a location and the offset in it, for functions without a name.
func (a *adder) placeOf(l *store.Location) string {
	offset, binary := l.Address, ""
	mapping := &a.table.Mappings.Rows[l.Mapping]
	if file := a.table.Text(mapping.File); file != "" {
		binary = path.Base(strings.ReplaceAll(file, `\`, "/"))
		if l.Address >= mapping.Start && (l.Address < mapping.Limit || mapping.Limit == 0) {
			offset += mapping.Offset - mapping.Start
		}
	}
	switch {
	case l.Address == 0 && binary == "":
		return "[no symbols]"
	case l.Address == 0:
		return binary
	case binary == "":
		return "0x" + strconv.FormatUint(offset, 16)
	}
	return binary + "+0x" + strconv.FormatUint(offset, 16)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package tree merges samples into a tree of function names, and draws and lists what is in it.
package tree // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/tree"

import (
	"slices"
	"unicode/utf8"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/symbols"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// RootName is the name of the root.
const RootName = "total"

// Tree has a node for each stack of function names, with the values of one or two sides.
type Tree struct {
	// names are the names of functions. Name 0 is that of the root.
	names symbols.Set[string]
	// places are where functions are defined, by name.
	places []place
	// nodes are the nodes. Node 0 is the root. Each node comes after its parent.
	nodes symbols.Set[node]
	// values are the values, by node and side. Profiles is the number of profiles with a selected sample, by side.
	values   [][2]sum
	Profiles [2]int

	work *meter.Meter
	text int64
}

type node struct{ parent, name uint32 }

// sum has the values of a node without its children, and with them.
type sum struct{ self, total int64 }

// place is the file of a function and the line where it starts.
type place struct {
	file string
	line int64
}

// New returns an empty tree, whose memory work counts.
func New(work *meter.Meter) *Tree {
	t := &Tree{work: work, places: []place{{}}, values: make([][2]sum, 1)}
	t.names.Add(RootName)
	t.nodes.Add(node{})
	return t
}

// The memory of a name and of the values of a node, with those of the old slice while it grows.
const (
	nameBytes  = 3 * 24
	valueBytes = 3 * 32
)

// Need counts the memory of the tree with one more node and name, and of extra bytes.
func (t *Tree) Need(extra int64) error { return t.need(1, extra) }

func (t *Tree) need(nodes int, extra int64) error {
	return t.work.Need(t.nodes.MostBytes(nodes) + t.names.MostBytes(1) + valueBytes*int64(len(t.nodes.Rows)+nodes) +
		nameBytes*int64(len(t.names.Rows)+1) + t.text + extra)
}

// grow makes place for more nodes.
func (t *Tree) grow(nodes int, extra int64) error {
	if err := t.need(nodes, extra); err != nil {
		return err
	}
	t.nodes.Grow(nodes)
	t.values = slices.Grow(t.values, nodes)
	return nil
}

// name returns the index of the name of a function. A function without a known place gets this one.
func (t *Tree) name(text string, at place) uint32 {
	text, at.file = cut(text, maxName), cut(at.file, maxName)
	if text == RootName || text == otherName {
		text += " " // The root and what is not drawn have these names, and no function.
	}
	index := t.names.Add(text)
	if int(index) == len(t.places) {
		t.places = append(t.places, at)
		t.text += int64(len(text) + len(at.file))
	} else if t.places[index].file == "" {
		t.places[index] = at
	}
	return index
}

// maxName limits the length of names in bytes: many nodes can have a long name.
const maxName = 1024

// cut returns the beginning of a name.
func cut(name string, end int) string {
	if len(name) <= end {
		return name
	}
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}

// child returns the child of a node with a name.
func (t *Tree) child(parent, name uint32, extra int64) (uint32, error) {
	if !t.nodes.Holds(1) || len(t.values) == cap(t.values) {
		if err := t.grow(len(t.values)/2+1, extra); err != nil {
			return 0, err
		}
	}
	index := t.nodes.Add(node{parent, name})
	if int(index) == len(t.values) {
		t.values = append(t.values, [2]sum{})
	}
	return index, nil
}

// add adds up the values of the children. With onlyPositive, negative values count as 0: they cannot be drawn.
func (t *Tree) add(onlyPositive bool) {
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

func (t *Tree) nameOf(index uint32) string { return t.names.Rows[t.nodes.Rows[index].name] }

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"cmp"
	"slices"
)

// MaxNodes is the most nodes that a drawing can have.
const MaxNodes = 128 << 10

// otherName is the name of the nodes for what is not drawn.
const otherName = "other"

// Graph is a drawing of a tree: the nodes of each level, from left to right.
type Graph struct {
	Names  []string
	Levels [][]Box
	// Totals are the values of the root, by side. MaxSelf is the largest value of a node without its children.
	Totals  [2]int64
	MaxSelf int64
}

// Box is a node of a drawing. Offset is the distance to the end of the node before it on the level, by side.
type Box struct {
	Name                int
	Offset, Total, Self [2]int64
}

// Draw returns a drawing of the largest nodes, about maxNodes of them. What is left out is a node named other, below the node that it was
// below. Children are sorted by name.
func (t *Tree) Draw(maxNodes int) (*Graph, error) {
	const perName, perNode, perKept = 8, 24, 256
	nodes := int64(len(t.values))
	if err := t.Need(perName*int64(len(t.names.Rows)) + perNode*nodes + perKept*min(nodes, MaxNodes)); err != nil {
		return nil, err
	}
	t.add(true)
	d := drawing{tree: t, least: t.least(maxNodes), names: make([]int, len(t.names.Rows))}
	d.first, d.next = t.children()
	d.level([]placed{{node: 0}})
	d.graph.Totals = [2]int64{t.values[0][0].total, t.values[0][1].total}
	return &d.graph, nil
}

// size is the value that decides whether a node is drawn.
func (t *Tree) size(i int) int64 { return max(t.values[i][0].total, t.values[i][1].total) }

// least returns the size of the smallest nodes that are drawn. Those of one size are drawn together, if they are not too many.
func (t *Tree) least(maxNodes int) int64 {
	sizes := make([]int64, 0, len(t.values))
	for i := 1; i < len(t.values); i++ {
		if size := t.size(i); size > 0 {
			sizes = append(sizes, size)
		}
	}
	maxNodes = max(min(maxNodes, MaxNodes), 1)
	if len(sizes) <= maxNodes {
		return 1
	}
	slices.Sort(sizes)
	least := sizes[len(sizes)-maxNodes]
	if left, _ := slices.BinarySearch(sizes, least); len(sizes)-left > MaxNodes {
		least++
	}
	return least
}

// drawing makes a graph.
type drawing struct {
	tree  *Tree
	least int64
	// first and next are the children of nodes, see [Tree.children], and children those of one node.
	first, next, children []uint32
	// names are the positions of names in the drawing plus 1, by name of the tree, and other is that of what is not drawn.
	names []int
	other int
	graph Graph
}

// placed is a node to draw and its position, by side. For what is not drawn of a node, isOther is set, and the values are in total.
type placed struct {
	node    uint32
	isOther bool
	at      [2]int64
	total   [2]int64
}

// level draws a level, and those below it.
func (d *drawing) level(nodes []placed) {
	for len(nodes) > 0 {
		boxes := make([]Box, len(nodes))
		end := [2]int64{}
		var below []placed
		for i, n := range nodes {
			b := &boxes[i]
			if n.isOther {
				b.Name = d.name(&d.other, otherName)
				b.Total, b.Self = n.total, n.total
			} else {
				b.Name = d.name(&d.names[d.tree.nodes.Rows[n.node].name], d.tree.nameOf(n.node))
				for side, v := range d.tree.values[n.node] {
					b.Total[side], b.Self[side] = v.total, v.self
				}
				below = d.below(below, n)
			}
			for side := range end {
				b.Offset[side] = n.at[side] - end[side]
				end[side] = n.at[side] + b.Total[side]
				d.graph.MaxSelf = max(d.graph.MaxSelf, b.Self[side])
			}
		}
		d.graph.Levels = append(d.graph.Levels, boxes)
		nodes = below
	}
}

// below appends the children of a node, and what is not drawn of it.
func (d *drawing) below(list []placed, n placed) []placed {
	children := d.children[:0]
	for child := d.first[n.node]; child != 0; child = d.next[child] {
		if d.tree.size(int(child)) >= d.least {
			children = append(children, child)
		}
	}
	d.children = children
	slices.SortFunc(children, func(a, b uint32) int { return cmp.Compare(d.tree.nameOf(a), d.tree.nameOf(b)) })
	at, other := n.at, [2]int64{}
	for side, v := range d.tree.values[n.node] {
		at[side] += v.self
		other[side] = v.total - v.self
	}
	for _, child := range children {
		list = append(list, placed{node: child, at: at})
		for side, v := range d.tree.values[child] {
			at[side] += v.total
			other[side] -= v.total
		}
	}
	if other != ([2]int64{}) {
		list = append(list, placed{isOther: true, at: at, total: other})
	}
	return list
}

// name returns the position of a name in the drawing. known is that position plus 1, or 0.
func (d *drawing) name(known *int, text string) int {
	if *known == 0 {
		d.graph.Names = append(d.graph.Names, text)
		*known = len(d.graph.Names)
	}
	return *known - 1
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"cmp"
	"slices"
)

// mostNodes is the most nodes that a drawing can have.
const mostNodes = 128 << 10

// graph is a drawing of a tree: the nodes of each level, from left to right.
type graph struct {
	names  []string
	levels [][]box
	// totals are the values of the root, by side. maxSelf is the largest value of a node without its children.
	totals  [2]int64
	maxSelf int64
}

// box is a node of a drawing. offset is the distance to the end of the node before it on the level, by side.
type box struct {
	name                int
	offset, total, self [2]int64
}

// draw returns a drawing of the largest nodes, about maxNodes of them. What is left out is a node named other, below the node that it was
// below. Children are sorted by name.
func (t *tree) draw(maxNodes int) (*graph, error) {
	const perName, perNode, perKept = 8, 24, 256
	nodes := int64(len(t.values))
	if err := t.work.Need(perName*int64(len(t.names.Rows)) + perNode*nodes + perKept*min(nodes, mostNodes)); err != nil {
		return nil, err
	}
	t.sum(true)
	d := drawing{tree: t, least: t.least(maxNodes), names: make([]int, len(t.names.Rows))}
	d.first, d.next = t.children()
	d.level([]placed{{node: 0}})
	d.graph.totals = t.totals()
	return &d.graph, nil
}

// size is the value that decides whether a node is drawn.
func (t *tree) size(i int) int64 { return max(t.values[i][0].total, t.values[i][1].total) }

// least returns the size of the smallest nodes that are drawn. Those of one size are drawn together, if they are not too many.
func (t *tree) least(maxNodes int) int64 {
	sizes := make([]int64, 0, len(t.values))
	for i := 1; i < len(t.values); i++ {
		if size := t.size(i); size > 0 {
			sizes = append(sizes, size)
		}
	}
	if len(sizes) <= maxNodes {
		return 1
	}
	slices.Sort(sizes)
	least := sizes[len(sizes)-maxNodes]
	if left, _ := slices.BinarySearch(sizes, least); len(sizes)-left > mostNodes {
		least++
	}
	return least
}

// drawing makes a graph.
type drawing struct {
	tree  *tree
	least int64
	// first and next are the children of nodes, see [tree.children], and children those of one node.
	first, next, children []uint32
	// names are the positions of names in the drawing plus 1, by name of the tree, and other is that of what is not drawn.
	names []int
	other int
	graph graph
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
		boxes := make([]box, len(nodes))
		end := [2]int64{}
		var below []placed
		for i, n := range nodes {
			b := &boxes[i]
			if n.isOther {
				b.name = d.name(&d.other, otherName)
				b.total, b.self = n.total, n.total
			} else {
				b.name = d.name(&d.names[d.tree.nodes.Rows[n.node].name], d.tree.nameOf(n.node))
				for side, v := range d.tree.values[n.node] {
					b.total[side], b.self[side] = v.total, v.self
				}
				below = d.below(below, n)
			}
			for side := range end {
				b.offset[side] = n.at[side] - end[side]
				end[side] = n.at[side] + b.total[side]
				d.graph.maxSelf = max(d.graph.maxSelf, b.self[side])
			}
		}
		d.graph.levels = append(d.graph.levels, boxes)
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
		d.graph.names = append(d.graph.names, text)
		*known = len(d.graph.names)
	}
	return *known - 1
}

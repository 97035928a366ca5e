// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpuprofile

import (
	"cmp"
	"slices"

	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// rootName is the name of the node above all others.
const rootName = "(root)"

// node is a node of the tree of calls. Its location and stack are added to the dictionary when the first sample refers to it.
type node struct {
	id, parentID int64
	// frame and children are the positions of these fields, 0 if they are missing.
	frame, children int
	// parent is an index of nodes, or noNode.
	parent          int32
	location, stack int32 // 0 until they are added
	hasID           bool
	hasParentID     bool
	isRoot          bool
	// visit is the number of the node from which the search for cycles came here first, plus one.
	visit int32
}

const noNode = -1

// readNodes reads the nodes and sorts them by id.
func (r *reader) readNodes(from profilebuilder.Place) {
	r.nodes = profilebuilder.Grow(r.Builder, r.nodes, from.Items)
	r.At = from.At
	for range r.Items("node") {
		r.nodes = append(r.nodes, r.readNode())
	}
	byID := func(a, b node) int { return cmp.Compare(a.id, b.id) }
	if !slices.IsSortedFunc(r.nodes, byID) {
		slices.SortFunc(r.nodes, byID)
	}
	for i := 1; i < len(r.nodes); i++ {
		if id := r.nodes[i].id; id == r.nodes[i-1].id {
			r.Failf("two nodes have the id %d", id)
		}
	}
}

func (r *reader) readNode() node {
	n := node{parent: noNode}
	for key := range r.Fields() {
		switch string(key) {
		case "id":
			n.hasID = true
			n.id = r.ReadValue(1, true)
		case "parent":
			n.hasParentID = true
			n.parentID = r.ReadValue(1, true)
		case "children":
			n.children = r.Mark().At
		case "callFrame":
			n.frame = r.At
			n.isRoot = r.skipFrame()
		default:
			r.Skip()
		}
	}
	if !n.hasID || n.frame == 0 {
		r.Failf("the node must have id and callFrame")
	}
	return n
}

// skipFrame skips the frame of a node, and reports whether it is that of the root.
func (r *reader) skipFrame() (isRoot bool) {
	for key := range r.Fields() {
		r.Peek()
		at := r.At
		r.Skip()
		if string(key) == "functionName" {
			isRoot = string(r.Text[at:r.At]) == `"`+rootName+`"`
		}
	}
	return isRoot
}

// find returns the index of the node with an id. Without one, it is an error and noNode.
func (r *reader) find(id int64) int32 {
	if len(r.nodes) > 0 { // V8 numbers nodes without gaps.
		if i := id - r.nodes[0].id; i >= 0 && i < int64(len(r.nodes)) && r.nodes[i].id == id {
			return int32(i)
		}
	}
	i, found := slices.BinarySearchFunc(r.nodes, id, func(n node, id int64) int { return cmp.Compare(n.id, id) })
	if !found {
		r.Failf("node %d does not exist", id)
		return noNode
	}
	return int32(i)
}

// readParents sets the parent of each node. A node names its children or its parent.
func (r *reader) readParents() {
	for number := range r.nodes {
		n := &r.nodes[number]
		if n.hasParentID {
			r.setParent(int32(number), r.find(n.parentID))
			if r.Err() != nil {
				r.AddPosition("the parent of node %d", n.id)
				return
			}
		}
		if n.children > 0 {
			r.At = n.children
			for range r.Items("") {
				r.setParent(r.find(r.ReadValue(1, true)), int32(number))
			}
			if r.Err() != nil {
				r.AddPosition("the children of node %d", n.id)
				return
			}
		}
	}
}

func (r *reader) setParent(child, parent int32) {
	if r.Err() != nil {
		return
	}
	n := &r.nodes[child]
	if n.parent != noNode && n.parent != parent {
		r.Failf("node %d has the parents %d and %d", n.id, r.nodes[n.parent].id, r.nodes[parent].id)
	}
	n.parent = parent
}

// checkCycles sets an error if a node is its own ancestor.
func (r *reader) checkCycles() {
	for i := range r.nodes {
		at, visit := int32(i), int32(i+1)
		for at != noNode && r.nodes[at].visit == 0 {
			r.nodes[at].visit = visit
			at = r.nodes[at].parent
		}
		if at != noNode && r.nodes[at].visit == visit {
			r.Failf("node %d is its own ancestor", r.nodes[at].id)
		}
	}
}

// stackOf returns the stack of a node.
func (r *reader) stackOf(number int32) int32 {
	n := &r.nodes[number]
	if n.stack > 0 {
		return n.stack
	}
	r.stack = r.stack[:0]
	for at := number; at != noNode && r.Err() == nil; at = r.nodes[at].parent {
		caller := &r.nodes[at]
		if caller.isRoot && caller.parent == noNode && len(r.stack) > 0 {
			break
		}
		r.stack = r.Push(r.stack, r.locationOf(caller))
	}
	n.stack = r.Stack(r.stack, false)
	return n.stack
}

// locationOf returns the location of a node.
func (r *reader) locationOf(n *node) int32 {
	if n.location > 0 {
		return n.location
	}
	r.At = n.frame
	n.location = r.ReadFrame("functionName", "url", "lineNumber", "columnNumber", 0)
	if r.Err() != nil {
		r.AddPosition("node %d", n.id)
	}
	return n.location
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpuprofile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// rootName is the name of the node above all others.
const rootName = "(root)"

// node is a node of the tree of calls. Its location and stack are added to the dictionary when the first sample refers to it.
type node struct {
	id, parentID int64
	// frame and children are the positions of these fields, 0 if they are missing.
	frame, children int
	// parent is an index of nodes, or noParent.
	parent          int32
	location, stack int32 // 0 until they are added
	hasID           bool
	hasParentID     bool
	isRoot          bool
	state           state
}

const noParent = -1

// state is how far the search for cycles has come.
type state int8

const (
	notVisited state = iota
	onPath
	visited
)

// readNodes reads the nodes and sorts them by id.
func (r *reader) readNodes(f field) error {
	r.nodes = profilebuilder.Grow(r.Builder, r.nodes, f.count)
	if err := r.Err(); err != nil {
		return err
	}
	r.At = f.at
	err := r.Array(func() error {
		n, err := r.readNode()
		if err != nil {
			return fmt.Errorf("node %d: %w", len(r.nodes), err)
		}
		r.nodes = append(r.nodes, n)
		return nil
	})
	if err != nil {
		return err
	}
	byID := func(a, b node) int { return cmp.Compare(a.id, b.id) }
	if !slices.IsSortedFunc(r.nodes, byID) {
		slices.SortFunc(r.nodes, byID)
	}
	for i := 1; i < len(r.nodes); i++ {
		if id := r.nodes[i].id; id == r.nodes[i-1].id {
			return profilebuilder.Malformed("two nodes have the id %d", id)
		}
	}
	return nil
}

func (r *reader) readNode() (node, error) {
	n := node{parent: noParent}
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "id":
			n.hasID = true
			n.id, err = r.ReadValue(1, true)
		case "parent":
			n.hasParentID = true
			n.parentID, err = r.ReadValue(1, true)
		case "children":
			err = r.Mark(&n.children)
		case "callFrame":
			n.frame = r.At
			err = r.Object(func(key []byte) error {
				if string(key) == "functionName" && r.Peek() == '"' {
					name, err := r.Literal()
					n.isRoot = string(name) == rootName
					return err
				}
				return r.Skip()
			})
		default:
			err = r.Skip()
		}
		return err
	})
	if err == nil && (!n.hasID || n.frame == 0) {
		err = profilebuilder.Malformed("the node must have id and callFrame")
	}
	return n, err
}

// find returns the index of the node with an id.
func (r *reader) find(id int64) (int, error) {
	if len(r.nodes) > 0 { // V8 numbers nodes without gaps.
		if i := id - r.nodes[0].id; i >= 0 && i < int64(len(r.nodes)) && r.nodes[i].id == id {
			return int(i), nil
		}
	}
	i, found := slices.BinarySearchFunc(r.nodes, id, func(n node, id int64) int { return cmp.Compare(n.id, id) })
	if !found {
		return 0, profilebuilder.Malformed("node %d does not exist", id)
	}
	return i, nil
}

// readParents sets the parent of each node. A node names its children or its parent.
func (r *reader) readParents() error {
	number := 0
	readChild := func() error {
		id, err := r.ReadValue(1, true)
		if err != nil {
			return err
		}
		child, err := r.find(id)
		if err != nil {
			return err
		}
		return r.setParent(&r.nodes[child], number)
	}
	for number = range r.nodes {
		n := &r.nodes[number]
		if n.hasParentID {
			parent, err := r.find(n.parentID)
			if err == nil {
				err = r.setParent(n, parent)
			}
			if err != nil {
				return fmt.Errorf("the parent of node %d: %w", n.id, err)
			}
		}
		if n.children > 0 {
			r.At = n.children
			if err := r.Array(readChild); err != nil {
				return fmt.Errorf("the children of node %d: %w", n.id, err)
			}
		}
	}
	return nil
}

func (r *reader) setParent(n *node, parent int) error {
	if n.parent != noParent && n.parent != int32(parent) {
		return profilebuilder.Malformed("node %d has the parents %d and %d", n.id, r.nodes[n.parent].id, r.nodes[parent].id)
	}
	n.parent = int32(parent)
	return nil
}

// checkCycles returns an error if a node is its own ancestor.
func (r *reader) checkCycles() error {
	for i := range r.nodes {
		at := int32(i)
		for at != noParent && r.nodes[at].state == notVisited {
			r.nodes[at].state = onPath
			at = r.nodes[at].parent
		}
		if at != noParent && r.nodes[at].state == onPath {
			return profilebuilder.Malformed("node %d is its own ancestor", r.nodes[at].id)
		}
		for at = int32(i); at != noParent && r.nodes[at].state == onPath; at = r.nodes[at].parent {
			r.nodes[at].state = visited
		}
	}
	return nil
}

// stackOf returns the stack of a node.
func (r *reader) stackOf(number int32) (int32, error) {
	n := &r.nodes[number]
	if n.stack > 0 {
		return n.stack, nil
	}
	r.stack = r.stack[:0]
	for at := number; at != noParent && r.CheckDepth(len(r.stack)+1); at = r.nodes[at].parent {
		caller := &r.nodes[at]
		if caller.isRoot && caller.parent == noParent && len(r.stack) > 0 {
			break
		}
		location, err := r.locationOf(caller)
		if err != nil {
			return 0, fmt.Errorf("node %d: %w", caller.id, err)
		}
		r.stack = profilebuilder.Append(r.Builder, r.stack, location)
	}
	n.stack = r.Stack(r.stack, false)
	return n.stack, r.Err()
}

// locationOf returns the location of a node.
func (r *reader) locationOf(n *node) (int32, error) {
	if n.location > 0 {
		return n.location, nil
	}
	r.At = n.frame
	var name, url []byte
	var line dictionary.Line
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "functionName":
			name, err = r.ReadText()
		case "url":
			url, err = r.ReadText()
		case "lineNumber":
			line.Line, err = r.ReadPosition(0)
		case "columnNumber":
			line.Column, err = r.ReadPosition(0)
		default:
			err = r.Skip()
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	if len(name) == 0 {
		name = []byte(profilebuilder.Anonymous)
	}
	line.Function = r.Function(name, url)
	n.location = r.Location(dictionary.Location{}, []dictionary.Line{line}, nil)
	return n.location, r.Err()
}

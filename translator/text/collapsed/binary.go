// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package collapsed

import (
	"encoding/binary"
	"math"

	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// The trie and the tree have the same encoding. A node is the length of its name, the name, its own value and the number
// of its children. All numbers are unsigned varints. The children follow their parent, each with its own subtree. The
// first node is the root, which has no name.

// node is one node, without its children.
type node struct {
	name     []byte
	value    int64
	children uint64
}

// nodes reads one node after the other.
type nodes struct {
	*profilebuilder.Builder
	content []byte
	at      int
}

// next reads a node.
func (n *nodes) next() (one node) {
	length := n.number("the length of a name")
	if left := uint64(len(n.content) - n.at); length > left {
		n.Failf("byte %d: a name has %d bytes, %d are left", n.at, length, left)
		return one
	}
	one.name = n.content[n.at : n.at+int(length)]
	n.at += int(length)
	one.value = int64(n.number("a value"))
	one.children = n.number("the number of children")
	return one
}

// number reads a number that fits into an int64.
func (n *nodes) number(what string) uint64 {
	value, length := binary.Uvarint(n.content[n.at:])
	switch {
	case length == 0:
		n.Failf("byte %d: the payload ends, want %s", n.at, what)
	case length < 0 || value > math.MaxInt64:
		n.Failf("byte %d: %s is more than %d", n.at, what, int64(math.MaxInt64))
	default:
		n.at += length
		return value
	}
	return 0
}

// level is a node whose children are being read.
type level struct {
	// length is the length of the stack, or of its text, including the node.
	length int
	left   uint64
}

// walk reads all nodes in depth-first order. It calls visit for each node, with the length that visit returned for its
// parent.
func (r *reader) walk(content []byte, visit func(parent int, one *node) (length int)) {
	n := &nodes{Builder: r.Builder, content: content}
	levels := []level{{left: 1}}
	for len(levels) > 0 && r.Err() == nil {
		top := &levels[len(levels)-1]
		if top.left == 0 {
			levels = levels[:len(levels)-1]
			continue
		}
		top.left--
		start := n.at
		one := n.next()
		if r.Advance(int64(n.at - start)); r.Err() != nil {
			return
		}
		length := visit(top.length, &one)
		if r.Err() != nil {
			r.AddPosition("byte %d", start)
		}
		if one.children > 0 {
			levels = profilebuilder.Append(r.Builder, levels, level{length, one.children})
		}
	}
	if n.at < len(content) {
		r.Failf("byte %d: %d bytes follow the last node", n.at, len(content)-n.at)
	}
}

// notAdded marks a frame of the stack whose location is not in the dictionary yet. Locations that only lead to nodes
// without a value are not added.
const notAdded = -1

// readTree reads a tree. Each node is a frame.
func (r *reader) readTree(content []byte) {
	var names [][]byte // the frames in the stack
	r.walk(content, func(parent int, one *node) int {
		r.stack, names = r.stack[:parent], names[:parent]
		switch {
		case len(one.name) > 0:
			r.stack = r.Push(r.stack, notAdded)
			names = profilebuilder.Append(r.Builder, names, one.name)
		case parent > 0:
			r.Failf("a frame has no name")
		}
		if one.value == 0 || r.Err() != nil {
			return len(r.stack)
		}
		for i := len(names) - 1; i >= 0 && r.stack[i] == notAdded; i-- {
			r.stack[i] = r.FrameLocation(names[i], nil, 0, 0)
		}
		r.addNode(one.value)
		return len(r.stack)
	})
}

// readTrie reads a trie. A node is a part of the text of a stack.
func (r *reader) readTrie(content []byte) {
	var text []byte
	read := 0
	r.walk(content, func(parent int, one *node) int {
		text = profilebuilder.Append(r.Builder, text[:parent], one.name...)
		if one.value == 0 {
			return len(text)
		}
		// A few nodes can expand to much text.
		read += len(text)
		r.CheckTotal("bytes of all stacks", read)
		r.readStack(text)
		r.addNode(one.value)
		return len(text)
	})
}

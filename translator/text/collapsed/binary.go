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
	content []byte
	at      int
}

// next reads a node.
func (n *nodes) next() (node, error) {
	length, err := n.number("the length of a name")
	if err != nil {
		return node{}, err
	}
	if left := uint64(len(n.content) - n.at); length > left {
		return node{}, profilebuilder.Malformed("byte %d: a name has %d bytes, %d are left", n.at, length, left)
	}
	one := node{name: n.content[n.at : n.at+int(length)]}
	n.at += int(length)
	value, err := n.number("a value")
	if err != nil {
		return node{}, err
	}
	one.value = int64(value)
	one.children, err = n.number("the number of children")
	return one, err
}

// number reads a number that fits into an int64.
func (n *nodes) number(what string) (uint64, error) {
	value, length := binary.Uvarint(n.content[n.at:])
	switch {
	case length == 0:
		return 0, profilebuilder.Malformed("byte %d: the payload ends, want %s", n.at, what)
	case length < 0 || value > math.MaxInt64:
		return 0, profilebuilder.Malformed("byte %d: %s is more than %d", n.at, what, int64(math.MaxInt64))
	}
	n.at += length
	return value, nil
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
	n := &nodes{content: content}
	levels := []level{{left: 1}}
	for len(levels) > 0 && r.Err() == nil {
		top := &levels[len(levels)-1]
		if top.left == 0 {
			levels = levels[:len(levels)-1]
			continue
		}
		top.left--
		start := n.at
		one, err := n.next()
		if err != nil {
			r.Fail(err)
			return
		}
		r.Advance(int64(n.at - start))
		length := visit(top.length, &one)
		if r.Err() != nil {
			r.AddPosition("byte %d", start)
		}
		if one.children > 0 {
			levels = profilebuilder.Append(r.Builder, levels, level{length, one.children})
		}
	}
	if r.Err() == nil && n.at < len(content) {
		r.Fail(profilebuilder.Malformed("byte %d: %d bytes follow the last node", n.at, len(content)-n.at))
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
			r.push(notAdded)
			names = profilebuilder.Append(r.Builder, names, one.name)
		case parent > 0:
			r.Fail(profilebuilder.Malformed("a frame has no name"))
		}
		if one.value == 0 || r.Err() != nil {
			return len(r.stack)
		}
		for i := len(names) - 1; i >= 0 && r.stack[i] == notAdded; i-- {
			r.stack[i] = r.NamedLocation(names[i])
		}
		r.add(one.value)
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
		// A few nodes can expand to much text. Limit the total.
		if read += len(text); read > r.Limits().InflatedBytes {
			r.Fail(profilebuilder.TooLarge("bytes of all stacks", read, r.Limits().InflatedBytes))
			return 0
		}
		r.readStack(text)
		r.add(one.value)
		return len(text)
	})
}

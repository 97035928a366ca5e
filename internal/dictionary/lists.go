// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import "slices"

// lists holds lists of indices back to back.
type lists struct {
	items []int32
	ends  []int
}

func (l *lists) reset() { l.items, l.ends = l.items[:0], l.ends[:0] }

func (l *lists) len() int { return len(l.ends) }

func (l *lists) add(list []int32) {
	if len(list) > cap(l.items)-len(l.items) {
		// Twice the room each time: append alone takes small steps when much is there, and copies it often.
		l.items = slices.Grow(l.items, max(len(list), len(l.items)))
	}
	l.items = append(l.items, list...)
	l.ends = append(l.ends, len(l.items))
}

// at returns list i. It is valid until the next add or reset.
func (l *lists) at(i int) []int32 {
	start := 0
	if i > 0 {
		start = l.ends[i-1]
	}
	return l.items[start:l.ends[i]]
}

// ListTable numbers lists of indices: equal lists have one number. Make it ready with Reset.
type ListTable struct {
	lists lists
	index hashIndex
}

// Reset drops all lists and makes room for n.
func (t *ListTable) Reset(n int) {
	t.lists.reset()
	t.index.reset(n)
}

// Len returns the number of lists.
func (t *ListTable) Len() int { return t.lists.len() }

// Index returns the number of a list, which is borrowed for the call only.
func (t *ListTable) Index(list []int32) int32 {
	h := hashIndices(0, list)
	entry, slot := t.index.first(h)
	for ; entry >= 0; entry, slot = t.index.next(h, slot) {
		if slices.Equal(t.lists.at(int(entry)), list) {
			return entry
		}
	}
	t.index.insert(h, slot, t.lists.len())
	t.lists.add(list)
	return int32(t.lists.len() - 1)
}

// At returns list number i, valid until the next call of Index or Reset.
func (t *ListTable) At(i int32) []int32 { return t.lists.at(int(i)) }

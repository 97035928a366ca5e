// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"slices"
)

// lists has lists of indices in one slice.
type lists struct {
	items []int32
	ends  []int
}

func (l *lists) reset() { l.items, l.ends = l.items[:0], l.ends[:0] }

func (l *lists) len() int { return len(l.ends) }

// add adds a list, which can be in the space of next.
func (l *lists) add(list []int32) {
	copy(l.next(len(list)), list)
	l.items = l.items[:len(l.items)+len(list)]
	l.ends = append(l.ends, len(l.items))
}

// next returns space for a next list of n items. It is valid until the next add or reset.
func (l *lists) next(n int) []int32 {
	if n > cap(l.items)-len(l.items) {
		// Double the capacity each time: append grows large slices in small steps, and copies them often.
		l.items = slices.Grow(l.items, max(n, len(l.items)))
	}
	return l.items[len(l.items) : len(l.items)+n]
}

// at returns list i. It is valid until the next add or reset.
func (l *lists) at(i int) []int32 {
	start := 0
	if i > 0 {
		start = l.ends[i-1]
	}
	return l.items[start:l.ends[i]]
}

// SortSet sorts list from position start on, and removes repeated items there.
func SortSet(list []int32, start int) []int32 {
	if len(list)-start < 2 {
		return list
	}
	set := list[start:]
	slices.Sort(set)
	return list[:start+len(slices.Compact(set))]
}

// ListTable numbers lists of indices. Equal lists have the same number. Call Reset before the first use.
type ListTable struct {
	lists   lists
	index   hashIndex
	touched uint64 // prevents the compiler from removing reads
}

// Reset removes all lists and makes room for n.
func (t *ListTable) Reset(n int) {
	t.lists.reset()
	t.lists.ends = slices.Grow(t.lists.ends, n+1)
	t.index.reset(n)
}

// Index returns the number of a list. It does not keep the list.
func (t *ListTable) Index(list []int32) int32 { return t.add(hashIndices(0, list), list) }

// add returns the number of a list with the hash h. The list can be in the space after the last list.
func (t *ListTable) add(h uint64, list []int32) int32 {
	entry, added := t.index.add(h, t.lists.len(), func(entry int32) bool { return slices.Equal(t.lists.at(int(entry)), list) })
	if added {
		t.lists.add(list)
	}
	return entry
}

// At returns list number i. It is valid until the next call of Index or Reset.
func (t *ListTable) At(i int32) []int32 { return t.lists.at(int(i)) }

// Kept returns the memory of the table in bytes, including unused capacity.
func (t *ListTable) Kept() int64 { return t.lists.kept() + kept(t.index.slots) }

// PairSet is a set of pairs of indices: open addressing with linear probing, as in hashIndex, but a slot has the pair
// itself. Call Reset before the first use.
type PairSet struct {
	slots []uint64
}

// Reset empties the set and makes room for n pairs.
func (s *PairSet) Reset(n int) {
	size := indexSize(n)
	if size > cap(s.slots) {
		s.slots = make([]uint64, size)
		return
	}
	s.slots = s.slots[:size]
	clear(s.slots)
}

// Add adds a pair, and reports whether it is new. There must be no more pairs than Reset made room for.
func (s *PairSet) Add(a, b int32) (added bool) {
	const full = 1 << 63 // no index is below 0
	pair := full | uint64(uint32(a))<<32 | uint64(uint32(b))
	mask := uint64(len(s.slots) - 1)
	for slot := finish(mix(0, pair)) >> 32 & mask; ; slot = (slot + 1) & mask {
		switch s.slots[slot] {
		case 0:
			s.slots[slot] = pair
			return true
		case pair:
			return false
		}
	}
}

// Kept returns the memory of the set in bytes, including unused capacity.
func (s *PairSet) Kept() int64 { return kept(s.slots) }

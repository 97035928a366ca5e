// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

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

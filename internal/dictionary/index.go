// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

// hashIndex finds the entries of a table by their hash: open addressing with linear probing. A slot has the upper half of
// the hash and the entry's index plus one; zero is a free slot. The table decides whether a candidate is equal.
type hashIndex struct {
	slots []uint64
	used  int
}

const smallestIndex = 64

// reset empties the index and makes room for n entries.
func (x *hashIndex) reset(n int) {
	size := indexSize(n)
	if size > cap(x.slots) {
		x.slots = make([]uint64, size)
	} else {
		x.slots = x.slots[:size]
		clear(x.slots)
	}
	x.used = 0
}

// indexSize is the number of slots for n entries.
func indexSize(n int) int {
	size := smallestIndex
	for size < 2*n {
		size *= 2
	}
	return size
}

// add returns the entry with the hash h for which equal returns true. If there is none, it adds entry n.
func (x *hashIndex) add(h uint64, n int, equal func(entry int32) bool) (entry int32, added bool) {
	if 4*x.used >= 3*len(x.slots) {
		x.grow()
	}
	mask := uint64(len(x.slots) - 1)
	for slot := h >> 32 & mask; ; slot = (slot + 1) & mask {
		content := x.slots[slot]
		if content == 0 {
			x.slots[slot] = h>>32<<32 | uint64(uint32(n+1))
			x.used++
			return int32(n), true
		}
		if entry := int32(uint32(content)) - 1; content>>32 == h>>32 && equal(entry) {
			return entry, false
		}
	}
}

// touch reads the slot where add will look for h first, so that it is in the processor's caches by then.
func (x *hashIndex) touch(h uint64) uint64 { return x.slots[h>>32&uint64(len(x.slots)-1)] }

func (x *hashIndex) grow() {
	old := x.slots
	x.slots = make([]uint64, max(smallestIndex, 2*len(old)))
	mask := uint64(len(x.slots) - 1)
	for _, content := range old {
		if content == 0 {
			continue
		}
		slot := content >> 32 & mask
		for x.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		x.slots[slot] = content
	}
}

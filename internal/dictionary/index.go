// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

// hashIndex finds the entries of a table by their hash: open addressing with linear probing. A slot has the upper half of
// the hash and the entry's index plus one; zero is a free slot. The table decides whether a candidate is equal:
//
//	entry, slot := x.first(h)
//	for ; entry >= 0; entry, slot = x.next(h, slot) { if equal, return entry }
//	x.insert(h, slot, newEntry)
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

// first returns the first entry that can have the hash h, or -1, and its slot.
func (x *hashIndex) first(h uint64) (entry int32, slot uint64) {
	if 4*x.used >= 3*len(x.slots) {
		x.grow()
	}
	return x.next(h, h>>32-1)
}

// touch reads the slot where first will look for h, so that it is in the processor's caches by then.
func (x *hashIndex) touch(h uint64) uint64 { return x.slots[h>>32&uint64(len(x.slots)-1)] }

// next returns the next entry after slot that can have the hash h, or -1, and its slot.
func (x *hashIndex) next(h, slot uint64) (int32, uint64) {
	mask := uint64(len(x.slots) - 1)
	for {
		slot = (slot + 1) & mask
		content := x.slots[slot]
		if content == 0 {
			return -1, slot
		}
		if content>>32 == h>>32 {
			return int32(uint32(content)) - 1, slot
		}
	}
}

// insert adds an entry to the free slot that first or next returned for h.
func (x *hashIndex) insert(h, slot uint64, entry int) {
	x.slots[slot] = h>>32<<32 | uint64(uint32(entry+1))
	x.used++
}

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

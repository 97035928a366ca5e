// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package persist

// slots says which slots are free.
type slots struct {
	// n is how many slots were ever in use, stored the number that the storage has.
	n, stored int
	// free are those below n that are not in use.
	free []span
}

// span is a range of slots, without its end.
type span struct{ begin, end int }

// slotsStep is by how many the number in the storage grows at a time.
const slotsStep = 256

// take returns a free slot, -1 if there is none.
func (s *slots) take() int {
	if last := len(s.free) - 1; last >= 0 {
		slot := s.free[last].begin
		if s.free[last].begin++; s.free[last].begin == s.free[last].end {
			s.free = s.free[:last]
		}
		return slot
	}
	if s.n == maxSlots {
		return -1
	}
	s.n++
	return s.n - 1
}

// release makes a slot free.
func (s *slots) release(slot int) { s.releaseAll(span{slot, slot + 1}) }

func (s *slots) releaseAll(all span) {
	if last := len(s.free) - 1; last >= 0 && s.free[last].end == all.begin {
		s.free[last].end = all.end
	} else if all.begin < all.end {
		s.free = append(s.free, all)
	}
}

// toStore returns the number that the storage is to have.
func (s *slots) toStore() int { return min(maxSlots, (s.n+slotsStep-1)/slotsStep*slotsStep) }

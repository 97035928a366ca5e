// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package persist

// slots has the free slots.
type slots struct {
	// n is the number of slots that were ever in use. stored is the number in the storage.
	n, stored int
	// free are the slots below n that are not in use.
	free []span
}

// span is a range of slots. end is not part of it.
type span struct{ begin, end int }

// slotsStep is the step in which the number in the storage grows.
const slotsStep = 256

// take returns a free slot, or -1 if there is none.
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

// toStore returns the number of slots for the storage, rounded up to a multiple of slotsStep.
func (s *slots) toStore() int { return min(maxSlots, (s.n+slotsStep-1)/slotsStep*slotsStep) }

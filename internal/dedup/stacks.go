// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import "math"

// stackUses records for each stack whether several samples of the current profile have it. Entries of earlier profiles need
// not be cleared, since they have an older turn.
type stackUses struct {
	// uses has, for each stack, twice the turn in which it was last used, plus one if several samples have it.
	uses []uint32
	turn uint32
}

// begin begins a profile whose samples have stacks below n.
func (s *stackUses) begin(n int) {
	n = max(n, 1) // stack 0 always exists
	if n > len(s.uses) {
		s.uses = append(s.uses, make([]uint32, n-len(s.uses))...)
	}
	s.turn++
	if s.turn > math.MaxUint32/2 {
		clear(s.uses)
		s.turn = 1
	}
}

// add adds a sample of a stack, and returns the increase in the number of samples that share their stack.
func (s *stackUses) add(stack int32) int {
	switch s.uses[stack] {
	case s.turn << 1:
		s.uses[stack] |= 1
		return 2
	case s.turn<<1 | 1:
		return 1
	default:
		s.uses[stack] = s.turn << 1
		return 0
	}
}

// shared reports whether several samples have a stack.
func (s *stackUses) shared(stack int32) bool { return s.uses[stack]&1 != 0 }

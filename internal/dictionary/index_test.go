// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// candidates returns all entries that may have the hash h, in the order in which they are found.
func candidates(x *hashIndex, h uint64) []int32 {
	var found []int32
	entry, slot := x.first(h)
	for ; entry >= 0; entry, slot = x.next(h, slot) {
		found = append(found, entry)
	}
	return found
}

func insert(x *hashIndex, h uint64, entry int) {
	at, slot := x.first(h)
	for ; at >= 0; at, slot = x.next(h, slot) { //revive:disable-line:empty-block // up to the first free slot
	}
	x.insert(h, slot, entry)
}

// TestIndexOfEqualHashes: entries with equal hashes, or with equal stored parts of them, are all found, each once and in the
// order of insertion, whatever entries are between them.
func TestIndexOfEqualHashes(t *testing.T) {
	var x hashIndex
	x.reset(0)
	var want [4][]int32
	for i := range 2000 {
		group := i % 4
		// The index does not store the lower half: these hashes are equal for it.
		insert(&x, uint64(group)<<32|uint64(i), i)
		want[group] = append(want[group], int32(i))
	}
	for group := range want {
		assert.Equal(t, want[group], candidates(&x, uint64(group)<<32|12345))
	}
	assert.Empty(t, candidates(&x, 4<<32))
}

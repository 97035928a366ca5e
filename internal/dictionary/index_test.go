// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// TestIndexGrows: while the index grows to a million entries, each entry is found at any time.
func TestIndexGrows(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 50_000
	}
	random := rand.New(rand.NewPCG(1, 2))
	hashes := make([]uint64, n)
	for i := range hashes {
		hashes[i] = random.Uint64()
	}
	var x hashIndex
	x.reset(0)
	check := func(inserted int) {
		missing := 0
		for i := range inserted {
			found := false
			for _, entry := range candidates(&x, hashes[i]) {
				found = found || int(entry) == i
			}
			if !found {
				missing++
			}
		}
		require.Zero(t, missing, "after %d entries", inserted)
	}
	next := 1
	for i, h := range hashes {
		insert(&x, h, i)
		if i+1 == next || i+1 == n {
			check(i + 1)
			next *= 3
		}
	}
	assert.Equal(t, n, x.used)
	assert.LessOrEqual(t, 4*x.used, 3*len(x.slots)+4, "a table that is too full is slow")
	assert.LessOrEqual(t, len(x.slots), 4*n, "a table that is too empty wastes memory")
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

// TestIndexReset: no entry is left, and the memory is reused.
func TestIndexReset(t *testing.T) {
	var x hashIndex
	for _, n := range []int{1000, 10, 3000, 0, 1} {
		x.reset(n)
		assert.Greater(t, len(x.slots)/4*3, n, "no growing for what was announced")
		assert.GreaterOrEqual(t, len(x.slots), smallestIndex)
		assert.Zero(t, x.used)
		for i := range 50 {
			require.Empty(t, candidates(&x, uint64(i)<<32))
			insert(&x, uint64(i)<<32, i)
			require.Equal(t, []int32{int32(i)}, candidates(&x, uint64(i)<<32))
		}
	}
	x.reset(1500)
	before := &x.slots[0]
	x.reset(10)
	x.reset(1500)
	assert.Same(t, before, &x.slots[0])
}

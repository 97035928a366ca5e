// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// idTable finds the position of an entry by its pprof id. It needs no memory if the ids count up from 1, as those of most producers, an
// array if they are small, and a map otherwise. Julia, for example, uses 64-bit hashes as ids.
type idTable struct {
	// counted is the number of entries if entry i has id i+1, or else 0.
	counted int
	// array has the position plus one of each id, or 0.
	array []int32
	byID  map[uint64]int32
	// maxEntries is the largest number of entries that byID was made for. A map never shrinks.
	maxEntries int
}

// reset prepares the table for n entries with ids up to largest.
func (t *idTable) reset(n int, largest uint64) {
	t.counted, t.array = 0, t.array[:0]
	clear(t.byID)
	switch {
	case largest <= uint64(4*n+64):
		t.array = scratch.Zeroed(t.array, int(largest)+1)
	case n > t.maxEntries:
		t.byID, t.maxEntries = make(map[uint64]int32, n), n
	}
}

// add adds entry i under its id. If another entry has this id already, add returns that entry, and otherwise -1.
func (t *idTable) add(id uint64, i int) (existing int) {
	if existing, found := t.find(id); found {
		return existing
	}
	if len(t.array) > 0 {
		t.array[id] = int32(i + 1)
	} else {
		t.byID[id] = int32(i + 1)
	}
	return -1
}

// find returns the position of the entry with this id.
func (t *idTable) find(id uint64) (int, bool) {
	if t.counted > 0 {
		return int(id - 1), id-1 < uint64(t.counted)
	}
	if len(t.array) == 0 {
		i, found := t.byID[id]
		return int(i) - 1, found
	}
	if id >= uint64(len(t.array)) {
		return 0, false
	}
	return int(t.array[id]) - 1, t.array[id] != 0
}

// fill adds n entries. Entries with the same id are an error, unless equal reports that they have the same content. repeated is
// the number of those.
func (t *idTable) fill(name string, n int, id func(i int) uint64, equal func(i, j int) bool) (repeated int, err error) {
	largest, counts := uint64(0), true
	for i := range n {
		v := id(i)
		largest, counts = max(largest, v), counts && v == uint64(i+1)
	}
	if counts {
		t.reset(0, 0)
		t.counted = n
		return 0, nil
	}
	t.reset(n, largest)
	for i := range n {
		existing := t.add(id(i), i)
		if existing < 0 {
			continue
		}
		if !equal(existing, i) {
			return repeated, pprofwire.Malformed("%s %d: id %d belongs to %s %d, which has other content", name, i, id(i), name, existing)
		}
		repeated++
	}
	return repeated, nil
}

func (t *idTable) kept() int64 { return 4*int64(cap(t.array)) + tableBytes*int64(t.maxEntries) }

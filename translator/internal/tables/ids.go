// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"slices"
	"sort"

	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// index fills the tables that find entries by id.
func (t *Tables) index() (repeated int, err error) {
	w := t.wire
	functions, err := t.functionIDs.fill("function", len(w.Functions),
		func(i int) uint64 { return w.Functions[i].ID },
		func(i, j int) bool { return w.Functions[i] == w.Functions[j] })
	if err != nil {
		return 0, err
	}
	mappings, err := t.mappingIDs.fill("mapping", len(w.Mappings),
		func(i int) uint64 { return w.Mappings[i].ID },
		func(i, j int) bool { return w.Mappings[i] == w.Mappings[j] })
	if err != nil {
		return 0, err
	}
	locations, err := t.locationIDs.fill("location", len(w.Locations),
		func(i int) uint64 { return w.Locations[i].ID },
		func(i, j int) bool {
			a, b := w.Locations[i], w.Locations[j]
			a.LinesEnd, b.LinesEnd = 0, 0
			return a == b && slices.Equal(w.LinesAt(i), w.LinesAt(j))
		})
	return functions + mappings + locations, err
}

// resolveFrames replaces the location ids of all samples with positions, and marks these locations as reached.
func (t *Tables) resolveFrames() error {
	w := t.wire
	t.reachedLocations = scratch.Zeroed(t.reachedLocations, len(w.Locations))
	for i, id := range w.LocationIDs {
		position, found := t.locationIDs.find(id)
		if !found {
			sample := sort.Search(len(w.Samples), func(s int) bool { return w.Samples[s].LocationsEnd > uint32(i) })
			return pprofwire.Malformed("sample %d: location id %d does not exist", sample, id)
		}
		w.LocationIDs[i] = uint64(position)
		t.reachedLocations[position] = true
	}
	return nil
}

// checkLines checks the function ids of all lines, also of locations that no sample refers to.
func (t *Tables) checkLines() error {
	w := t.wire
	for i := range w.Lines {
		id := w.Lines[i].FunctionID
		if _, found := t.functionIDs.find(id); !found && id != 0 {
			location := sort.Search(len(w.Locations), func(l int) bool { return w.Locations[l].LinesEnd > uint32(i) })
			return pprofwire.Malformed("location %d: function id %d does not exist", location, id)
		}
	}
	return nil
}

// tableBytes is an upper bound for the memory of one entry of a table, which is a map or an array of four elements for each
// entry.
const tableBytes = 40

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

// fill replaces the entries by n others. Entries with the same id are an error, unless equal reports that they have the same content. repeated is
// the number of those.
func (t *idTable) fill(name string, n int, id func(i int) uint64, equal func(i, j int) bool) (repeated int, err error) {
	t.counted, t.array = 0, t.array[:0]
	clear(t.byID)
	largest, counts := uint64(0), true
	for i := range n {
		v := id(i)
		largest, counts = max(largest, v), counts && v == uint64(i+1)
	}
	if counts {
		t.counted = n
		return 0, nil
	}
	switch {
	case largest <= uint64(4*n+64):
		t.array = scratch.Zeroed(t.array, int(largest)+1)
	case n > t.maxEntries:
		t.byID, t.maxEntries = make(map[uint64]int32, n), n
	}
	for i := range n {
		existing, found := t.find(id(i))
		switch {
		case found && !equal(existing, i):
			return repeated, pprofwire.Malformed("%s %d: id %d belongs to %s %d, which has other content", name, i, id(i), name, existing)
		case found:
			repeated++
		case len(t.array) > 0:
			t.array[id(i)] = int32(i + 1)
		default:
			t.byID[id(i)] = int32(i + 1)
		}
	}
	return repeated, nil
}

func (t *idTable) kept() int64 { return 4*int64(cap(t.array)) + tableBytes*int64(t.maxEntries) }

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"slices"
	"sort"

	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// resolver holds the positions of the entries of one payload by their ids. The zero value is ready for use; the memory
// is used again by the next payload.
type resolver struct {
	functions idTable
	mappings  idTable
	locations idTable

	// reached reports for each location whether a sample refers to it.
	reached []bool
}

// resolve indexes the entries of p by id and resolves the references. It replaces each id in p.LocationIDs with the position of
// the location in p.Locations. The error is pprofwire.ErrMalformed: two different entries have the same id, or an id does not
// exist. A line without a function and a mapping id that does not exist are not errors. repeated is the number of entries that
// appear a second time with the same content.
func (r *resolver) resolve(p *pprofwire.Profile) (repeated int, err error) {
	if repeated, err = r.index(p); err != nil {
		return repeated, err
	}
	if err := r.resolveFrames(p); err != nil {
		return repeated, err
	}
	return repeated, r.checkLines(p)
}

// index fills the tables that find entries by id.
func (r *resolver) index(p *pprofwire.Profile) (repeated int, err error) {
	functions, err := r.functions.fill("function", len(p.Functions),
		func(i int) uint64 { return p.Functions[i].ID },
		func(i, j int) bool { return p.Functions[i] == p.Functions[j] })
	if err != nil {
		return functions, err
	}
	mappings, err := r.mappings.fill("mapping", len(p.Mappings),
		func(i int) uint64 { return p.Mappings[i].ID },
		func(i, j int) bool { return p.Mappings[i] == p.Mappings[j] })
	if err != nil {
		return functions + mappings, err
	}
	locations, err := r.locations.fill("location", len(p.Locations),
		func(i int) uint64 { return p.Locations[i].ID },
		func(i, j int) bool {
			a, b := p.Locations[i], p.Locations[j]
			a.LinesEnd, b.LinesEnd = 0, 0
			return a == b && slices.Equal(p.LinesAt(i), p.LinesAt(j))
		})
	return functions + mappings + locations, err
}

// resolveFrames replaces the location ids of all samples with positions, and marks these locations as reached.
func (r *resolver) resolveFrames(p *pprofwire.Profile) error {
	r.reached = scratch.Zeroed(r.reached, len(p.Locations))
	for i, id := range p.LocationIDs {
		position, found := r.locations.find(id)
		if !found {
			sample := sort.Search(len(p.Samples), func(s int) bool { return p.Samples[s].LocationsEnd > uint32(i) })
			return pprofwire.Malformed("sample %d: location id %d does not exist", sample, id)
		}
		p.LocationIDs[i] = uint64(position)
		r.reached[position] = true
	}
	return nil
}

// checkLines checks the function ids of all lines, also of locations that no sample refers to.
func (r *resolver) checkLines(p *pprofwire.Profile) error {
	for i := range p.Lines {
		id := p.Lines[i].FunctionID
		if _, found := r.functions.find(id); !found && id != 0 {
			location := sort.Search(len(p.Locations), func(l int) bool { return p.Locations[l].LinesEnd > uint32(i) })
			return pprofwire.Malformed("location %d: function id %d does not exist", location, id)
		}
	}
	return nil
}

// tableBytes is an upper bound for the memory of one entry of a table, which is a map or an array of four elements for each
// entry.
const tableBytes = 40

// kept returns the capacity of the tables in bytes.
func (r *resolver) kept() int64 {
	return r.functions.kept() + r.mappings.kept() + r.locations.kept() + int64(cap(r.reached))
}

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

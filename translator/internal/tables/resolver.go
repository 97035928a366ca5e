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

// resolverBytes returns an upper bound for the memory that a resolver needs for p.
func resolverBytes(p *pprofwire.Profile) int64 {
	return tableBytes*int64(len(p.Functions)+len(p.Mappings)+len(p.Locations)) + int64(len(p.Locations))
}

// kept returns the capacity of the tables in bytes.
func (r *resolver) kept() int64 {
	return r.functions.kept() + r.mappings.kept() + r.locations.kept() + int64(cap(r.reached))
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"slices"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/symbols"
)

// Selection is what a query selects: profiles, some of their sample types, and some of their samples.
type Selection struct {
	Parts  []Part
	filter *Filter
	// Profiles is the number of profiles.
	Profiles int
}

// Part is the part of a selection whose samples have the same symbols.
type Part struct {
	Table    *symbols.Table
	Profiles []Chosen
}

// Chosen is a profile of a selection.
type Chosen struct {
	*store.Profile
	// Wanted are the positions of the sample types that the query wants, and Columns those whose values count.
	Wanted, Columns []int
	// Keeps returns whether samples with these labels count. It is nil if all do.
	Keeps func(labels uint32) bool
}

// Select returns the selection of profiles that match a filter, with the sample types that wants accepts.
func Select(profiles []*store.Profile, filter *Filter, wants func(*store.Profile, int) bool) *Selection {
	s := &Selection{filter: filter}
	parts := map[*store.Block]int{}
	for _, p := range profiles {
		var columns []int
		for i := range p.Columns {
			if wants(p, i) && filter.Column(p, i) {
				columns = append(columns, i)
			}
		}
		if len(columns) == 0 {
			continue
		}
		at, found := parts[p.Block]
		if !found {
			at = len(s.Parts)
			parts[p.Block] = at
			s.Parts = append(s.Parts, Part{Table: p.Block.Table()})
		}
		s.Parts[at].Profiles = append(s.Parts[at].Profiles, Chosen{Profile: p, Wanted: columns, Columns: columns, Keeps: filter.Samples(p)})
		s.Profiles++
	}
	return s
}

// OfType returns a function for [Select] that wants the sample type with an ID.
func OfType(id string) func(*store.Profile, int) bool {
	return func(p *store.Profile, column int) bool { return p.Columns[column].ID == id }
}

// All is a function for [Select] that wants all sample types.
func All(*store.Profile, int) bool { return true }

// gauge is a sample type of a resource whose values are a state at one time.
type gauge struct{ resource, id string }

// KeepLatest leaves out the values of earlier profiles if they are a state at one time: of each resource, those of the latest profile
// count. All profiles of that time do, such as the parts of one capture.
func (s *Selection) KeepLatest() {
	latest := map[gauge]time.Time{}
	for c := range s.chosen {
		for _, i := range c.Columns {
			key := gauge{c.Resource.Key(), c.Profile.Columns[i].ID}
			if at, found := latest[key]; c.Profile.Columns[i].IsGauge && (!found || c.End.After(at)) {
				latest[key] = c.End
			}
		}
	}
	for c := range s.chosen {
		c.Columns = slices.DeleteFunc(slices.Clone(c.Columns), func(i int) bool {
			return c.Profile.Columns[i].IsGauge && !c.End.Equal(latest[gauge{c.Resource.Key(), c.Profile.Columns[i].ID}])
		})
	}
}

// chosen iterates over all profiles.
func (s *Selection) chosen(yield func(*Chosen) bool) {
	for i := range s.Parts {
		for j := range s.Parts[i].Profiles {
			if !yield(&s.Parts[i].Profiles[j]) {
				return
			}
		}
	}
}

// Bytes returns the memory of the selection and its filter.
func (s *Selection) Bytes() int64 {
	const chosenBytes = 128
	bytes := s.filter.Bytes() + chosenBytes*int64(s.Profiles)
	for _, part := range s.Parts {
		bytes += int64(len(part.Table.Labels.Rows))
	}
	return bytes
}

// Err returns an error if the filter was too expensive. Then the selection is wrong.
func (s *Selection) Err() error { return s.filter.Err() }

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"slices"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/symbols"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// Selection is what a query selects: profiles, some of their sample types, and some of their samples.
type Selection struct {
	Parts  []Part
	filter *Filter
	// Profiles are the profiles, in order of arrival.
	Profiles []*store.Profile
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

// Select returns the selection of profiles that match a filter, with the sample types that wants accepts. work counts its memory.
func Select(profiles []*store.Profile, filter *Filter, wants func(*store.Profile, int) bool, work *meter.Meter) (*Selection, error) {
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
		s.Profiles = append(s.Profiles, p)
	}
	return s, work.Use(s.bytes())
}

// Unit returns the unit of the first sample type that the query wants.
func (s *Selection) Unit() string {
	for c := range s.chosen {
		return c.Profile.Columns[c.Wanted[0]].Unit
	}
	return ""
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

// bytes returns the memory of the selection and its filter.
func (s *Selection) bytes() int64 {
	const chosenBytes = 136
	bytes := s.filter.Bytes() + chosenBytes*int64(len(s.Profiles))
	for _, part := range s.Parts {
		bytes += int64(len(part.Table.Labels.Rows))
	}
	return bytes
}

// Err returns an error if the filter was too expensive. Then the selection is wrong.
func (s *Selection) Err() error { return s.filter.Err() }

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"maps"
	"slices"
)

// Facet is a resource attribute and its values.
type Facet struct {
	Name   string
	Values []string
	// More is true if there are other values.
	More bool
}

// The limits of the search for facets, and of its result.
const (
	facetEntries    = 20_000
	facetNames      = 32
	facetCandidates = 256
	facetText       = 128
	maxFacets       = 8
	maxFacetValues  = 100
)

// Facets returns resource attributes that differ between profiles of a tenant and time range, sorted by name, with their
// values. It reads the newest profiles only. It leaves out attributes with a single value, and names and values that are too
// long.
func (s *Store) Facets(tenant string, from, until Bound, except string) []Facet {
	return FacetsOf(s.Newest(tenant, from, until, facetEntries), except)
}

// FacetsOf returns attributes that differ between entries, like Facets.
func FacetsOf(entries []*Entry, except string) []Facet {
	values := map[string]map[string]struct{}{}
	for _, e := range entries[max(0, len(entries)-facetEntries):] {
		addFacets(values, e, except)
	}
	var facets []Facet
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if all := slices.Sorted(maps.Keys(values[name])); len(all) > 1 && len(facets) < maxFacets {
			shown := all[:min(len(all), maxFacetValues)]
			facets = append(facets, Facet{Name: name, Values: shown, More: len(shown) < len(all)})
		}
	}
	return facets
}

func addFacets(values map[string]map[string]struct{}, e *Entry, except string) {
	for _, a := range e.Attributes {
		if a.Name == except || a.Name == "" || a.Value == "" || len(a.Name) > facetText || len(a.Value) > facetText {
			continue
		}
		known := values[a.Name]
		if known == nil {
			if len(values) == facetNames {
				continue
			}
			known = map[string]struct{}{}
			values[a.Name] = known
		}
		if len(known) < facetCandidates {
			known[a.Value] = struct{}{}
		}
	}
}

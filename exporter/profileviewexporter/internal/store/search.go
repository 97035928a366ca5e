// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Query selects profiles.
type Query struct {
	Tenant string
	// Service selects those of a service. If it is empty, all services match.
	Service string
	// Kind is the kind of the profiles. If it is empty, all kinds match.
	Kind string
	// From and Until limit the time of profiles. Window is counted back from the end of the newest profile. For Window, a profile
	// whose time is far from its arrival counts by its arrival.
	From, Until Bound
	Window      time.Duration
	// After is a sequence. Only later profiles match.
	After uint64
	// Matches returns whether a profile is selected. It can be nil.
	Matches func(p *Profile) bool
}

// Bound is one end of a time range.
type Bound struct {
	// At is zero if there is no bound.
	At time.Time
	// Relative is set if the time was counted back from now. Then a profile whose time is far from its arrival counts by its arrival.
	Relative bool
}

// Forever is the end of a time range without an end.
var Forever = time.Unix(1<<40, 0)

// admits returns whether a profile ends at or after from and begins before until.
func (q *Query) admits(p *Profile) bool {
	_, end := p.span(q.From.Relative)
	begin, _ := p.span(q.Until.Relative)
	return (q.From.At.IsZero() || !end.Before(q.From.At)) && (q.Until.At.IsZero() || begin.Before(q.Until.At)) && p.Sequence > q.After
}

// Search returns the profiles of a query, in order of arrival. known is true if the store has profiles of the service and type. The store
// is not locked while Matches is called.
func (s *Store) Search(q *Query) (found []*Profile, known bool) {
	all := s.of(q)
	known = len(all) > 0
	found = slices.DeleteFunc(all, func(p *Profile) bool { return !q.admits(p) || q.Matches != nil && !q.Matches(p) })
	if q.Window > 0 && len(found) > 0 {
		newest := time.Time{}
		for _, p := range found {
			if _, end := p.span(true); end.After(newest) {
				newest = end
			}
		}
		found = slices.DeleteFunc(found, func(p *Profile) bool {
			_, end := p.span(true)
			return !end.After(newest.Add(-q.Window))
		})
	}
	return found, known
}

// of returns the profiles of the tenant, service and type of a query.
func (s *Store) of(q *Query) (all []*Profile) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if q.Service != "" && q.Kind != "" {
		return slices.Clone(s.series[key{q.Tenant, q.Service, q.Kind}])
	}
	for k, some := range s.series {
		if k.tenant == q.Tenant && (q.Service == "" || k.service == q.Service) && (q.Kind == "" || k.kind == q.Kind) {
			all = append(all, some...)
		}
	}
	slices.SortFunc(all, func(a, b *Profile) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return all
}

// Series describes the profiles of a service and type. First and Last are the times of the first and last profile, or of arrival if these
// are far from the arrival.
type Series struct {
	Service  string    `json:"service"`
	Type     string    `json:"type"`
	Profiles int       `json:"profiles"`
	Bytes    int64     `json:"bytes"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	CPU      bool      `json:"cpu"`
	PGO      bool      `json:"pgo"`
	// IDs are the IDs of the sample types of the last profile, at most maxIDs.
	IDs []string `json:"-"`
}

// maxIDs limits the IDs of a series: a page has a link for each.
const maxIDs = 32

// List returns at most limit series of the profiles of a tenant, sorted by service and type, after the series with the names after. more is
// true if others follow.
func List(profiles []*Profile, after [2]string, limit int) (_ []Series, more bool) {
	found, byKey := []Series{}, map[key]*Series{}
	for _, p := range profiles {
		k := keyOf(p)
		if byKey[k] == nil && k.compare(key{k.tenant, after[0], after[1]}) > 0 {
			byKey[k] = &Series{Service: k.service, Type: k.kind}
		}
		if one := byKey[k]; one != nil {
			one.add(p)
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(byKey), key.compare) {
		if len(found) == limit {
			return found, true
		}
		found = append(found, *byKey[k])
	}
	return found, false
}

func (one *Series) add(p *Profile) {
	one.Profiles++
	one.Bytes += p.cost
	one.CPU = one.CPU || p.CPU
	one.PGO = one.PGO || p.PGO
	begin, end := p.span(true)
	if one.Profiles == 1 || begin.Before(one.First) {
		one.First = begin
	}
	if end.After(one.Last) {
		one.Last = end
	}
	one.IDs = one.IDs[:0]
	for _, c := range p.Columns[:min(len(p.Columns), maxIDs)] {
		one.IDs = append(one.IDs, c.ID)
	}
}

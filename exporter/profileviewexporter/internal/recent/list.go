// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"slices"
	"time"
)

// Series tells what is held of a service and type. First and Last go by when profiles came, where their own time is far
// from that.
type Series struct {
	Service  string    `json:"service"`
	Type     string    `json:"type"`
	Profiles int       `json:"profiles"`
	Bytes    int64     `json:"bytes"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	CPU      bool      `json:"cpu"`
	PGO      bool      `json:"pgo"`
}

// ListQuery says which series are wanted, and which of their profiles count.
type ListQuery struct {
	Tenant string
	// AfterService and AfterType are those of the series before the first that is wanted.
	AfterService, AfterType string
	// From and Until bound the time of profiles, see Query.
	From, Until Bound
	// Attributes must be equal.
	Attributes map[string]string
	// Limit is the number of series.
	Limit int
}

// List returns the series of a tenant that have profiles of the time, by service and type. More tells whether others
// follow.
func (s *Store) List(q *ListQuery) (found []Series, more bool) {
	after := key{tenant: q.Tenant, service: q.AfterService, profileType: q.AfterType}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var keys []key
	for k := range s.series {
		if k.tenant == q.Tenant && k.compare(after) > 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, key.compare)
	found = make([]Series, 0, min(len(keys), q.Limit))
	for _, k := range keys {
		one := q.seriesOf(k, s.series[k])
		if one.Profiles == 0 {
			continue
		}
		if len(found) == q.Limit {
			return found, true
		}
		found = append(found, one)
	}
	return found, false
}

func (q *ListQuery) seriesOf(k key, entries []*Entry) Series {
	one := Series{Service: k.service, Type: k.profileType}
	for _, e := range entries {
		if !admits(q.From, q.Until, e) || !e.has(q.Attributes) {
			continue
		}
		one.Profiles++
		one.Bytes += int64(len(e.Compressed))
		one.CPU = one.CPU || e.CPU
		one.PGO = one.PGO || e.PGO
		if one.Profiles == 1 || e.seenBegin.Before(one.First) {
			one.First = e.seenBegin
		}
		if e.seenEnd.After(one.Last) {
			one.Last = e.seenEnd
		}
	}
	return one
}

// HeldOf returns how many profiles of a tenant are held.
func (s *Store) HeldOf(tenant string) (profiles int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for k, entries := range s.series {
		if k.tenant == tenant {
			profiles += len(entries)
		}
	}
	return profiles
}

// Types returns the types of which profiles of a service are held, sorted, at most limit of them.
func (s *Store) Types(tenant, service string, limit int) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var types []string
	for k := range s.series {
		if k.tenant == tenant && k.service == service {
			types = append(types, k.profileType)
		}
	}
	slices.Sort(types)
	return types[:min(len(types), limit)]
}

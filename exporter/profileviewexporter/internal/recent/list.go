// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/internal/selector"
)

// Series describes the profiles of a service and type in the store. First and Last are the times of the first and last profile,
// or of arrival if these are far from the arrival.
type Series struct {
	Service  string    `json:"service"`
	Type     string    `json:"type"`
	Profiles int       `json:"profiles"`
	Bytes    int64     `json:"bytes"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	CPU      bool      `json:"cpu"`
	PGO      bool      `json:"pgo"`
	// Arrivals counts the arrivals over the time range of the list.
	Arrivals Arrivals `json:"-"`
}

// ListQuery selects series, and the profiles of them that count.
type ListQuery struct {
	Tenant string
	// AfterService and AfterType name the series before the first series of the result.
	AfterService, AfterType string
	// From and Until limit the time of profiles, see Query.
	From, Until Bound
	// Attributes select profiles by their resource attributes.
	Attributes []selector.Selector
	// Search is a part of the name of the service or type, in any case.
	Search string
	// Order compares series. If it is nil, they are sorted by service and type.
	Order func(a, b *Series) int
	// Now is the end of the time range for Arrivals.
	Now time.Time
	// Limit is the maximum number of series.
	Limit int
}

// List returns the series of a tenant that have matching profiles, in order. more is true if others follow. Attributes are matched while
// the store is not locked. The error is [selector.ErrExpensive] or that of ctx.
func (s *Store) List(ctx context.Context, q *ListQuery) (found []Series, more bool, err error) {
	keys, oldest := s.keysOf(q)
	slices.SortFunc(keys, key.compare)
	if q.From.Relative {
		oldest = q.From.At
	}
	found = make([]Series, 0, min(len(keys), q.Limit))
	var entries []*Entry
	for _, k := range keys {
		entries = s.appendSeries(entries[:0], k)
		one, err := q.seriesOf(ctx, k, entries, oldest)
		if err != nil {
			return nil, false, err
		}
		if one.Profiles == 0 {
			continue
		}
		if q.Order == nil && len(found) == q.Limit {
			return found, true, nil
		}
		if found = append(found, one); len(found) == 2*q.Limit {
			found, more = q.first(found), true
		}
	}
	if q.Order != nil {
		more = more || len(found) > q.Limit
		found = q.first(found)
	}
	return found, more, nil
}

// keysOf returns the keys of the series that can match, and the first arrival of all series of the tenant.
func (s *Store) keysOf(q *ListQuery) (keys []key, oldest time.Time) {
	after := key{tenant: q.Tenant, service: q.AfterService, profileType: q.AfterType}
	search := strings.ToLower(q.Search)
	oldest = q.Now
	s.mu.RLock()
	defer s.mu.RUnlock()
	for k, entries := range s.series {
		if k.tenant != q.Tenant {
			continue
		}
		if first := entries[0].arrived; first.Before(oldest) {
			oldest = first
		}
		if k.compare(after) > 0 && k.contains(search) {
			keys = append(keys, k)
		}
	}
	return keys, oldest
}

// appendSeries appends the entries of a series.
func (s *Store) appendSeries(entries []*Entry, k key) []*Entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append(entries, s.series[k]...)
}

// first sorts series, and returns the first limit of them.
func (q *ListQuery) first(all []Series) []Series {
	slices.SortStableFunc(all, func(a, b Series) int { return q.Order(&a, &b) })
	return all[:min(len(all), q.Limit)]
}

// contains returns whether the service or type contains a text, which must be in lower case.
func (k key) contains(part string) bool {
	return part == "" || strings.Contains(strings.ToLower(k.service), part) || strings.Contains(strings.ToLower(k.profileType), part)
}

// Arrivals has the numbers of arrivals in equal parts of a time range.
type Arrivals [40]uint32

// add counts a profile that arrived between begin and end.
func (a *Arrivals) add(at, begin, end time.Time) {
	part := 0
	if whole := end.Sub(begin); whole > 0 {
		part = int(float64(len(a)) * float64(at.Sub(begin)) / float64(whole))
	}
	a[min(max(part, 0), len(a)-1)]++
}

func (q *ListQuery) seriesOf(ctx context.Context, k key, entries []*Entry, oldest time.Time) (Series, error) {
	one := Series{Service: k.service, Type: k.profileType}
	for _, e := range entries {
		if !admits(q.From, q.Until, e) {
			continue
		}
		matches, err := e.Matches(ctx, q.Attributes)
		if err != nil {
			return one, err
		}
		if !matches {
			continue
		}
		one.Profiles++
		one.Arrivals.add(e.arrived, oldest, q.Now)
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
	return one, nil
}

// HeldOf returns the number of profiles of a tenant.
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

// Types returns the profile types of a service, sorted, at most limit of them.
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

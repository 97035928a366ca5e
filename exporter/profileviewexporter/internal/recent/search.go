// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/otelpprof/otelpprof/internal/selector"
)

// Query selects entries.
type Query struct {
	Tenant, Service string
	// Type is the profile type. If it is empty, all profiles of CPU time match.
	Type string
	// From and Until limit the time of profiles. Window is counted back from the end of the newest profile. For Window, a
	// profile whose time is far from its arrival counts by its arrival.
	From, Until Bound
	Window      time.Duration
	// After is a sequence. Only later entries match.
	After uint64
	// Attributes select profiles by their resource attributes.
	Attributes []selector.Selector
}

// Bound is one end of a time range.
type Bound struct {
	// At is zero if there is no bound.
	At time.Time
	// Relative is set if the time was counted back from now. Then an entry whose time is far from its arrival counts by its
	// arrival.
	Relative bool
}

// admits returns whether an entry ends at or after from and begins before until.
func admits(from, until Bound, e *Entry) bool {
	_, end := e.span(from.Relative)
	begin, _ := e.span(until.Relative)
	return (from.At.IsZero() || !end.Before(from.At)) && (until.At.IsZero() || begin.Before(until.At))
}

// AnyBetween returns whether an entry ends at or after from and begins before until.
func AnyBetween(entries []*Entry, from, until Bound) bool {
	return slices.ContainsFunc(entries, func(e *Entry) bool { return admits(from, until, e) })
}

// Bounded returns whether the query has a time range.
func (q *Query) Bounded() bool { return !q.From.At.IsZero() || !q.Until.At.IsZero() || q.Window > 0 }

// Search returns the matching entries, in order of arrival. known is true if the store has entries of the service and type. Attributes are
// matched while the store is not locked. The error is [selector.ErrExpensive] or that of ctx.
func (s *Store) Search(ctx context.Context, q Query) (entries []*Entry, known bool, err error) {
	all := s.copyOf(&q)
	known = len(all) > 0
	entries = all[:0]
	for _, e := range all {
		if e.Sequence <= q.After || !admits(q.From, q.Until, e) {
			continue
		}
		matches, err := e.Matches(ctx, q.Attributes)
		if err != nil {
			return nil, known, err
		}
		if matches {
			entries = append(entries, e)
		}
	}
	if q.Window > 0 && len(entries) > 0 {
		newest := slices.MaxFunc(entries, func(a, b *Entry) int { return a.seenEnd.Compare(b.seenEnd) }).seenEnd
		entries = slices.DeleteFunc(entries, func(e *Entry) bool { return !e.seenEnd.After(newest.Add(-q.Window)) })
	}
	return entries, known, nil
}

// copyOf returns the entries of the service and type of a query.
func (s *Store) copyOf(q *Query) (all []*Entry) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if q.Type != "" {
		return slices.Clone(s.series[key{tenant: q.Tenant, service: q.Service, profileType: q.Type}])
	}
	for k, some := range s.series {
		if k.tenant == q.Tenant && k.service == q.Service {
			all = append(all, some...)
		}
	}
	all = slices.DeleteFunc(all, func(e *Entry) bool { return !e.CPU })
	slices.SortFunc(all, func(a, b *Entry) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return all
}

// Newest returns at most limit entries of a tenant and time range, newest first.
func (s *Store) Newest(tenant string, from, until Bound, limit int) (entries []*Entry) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for element := s.order.Back(); element != nil && len(entries) < limit; element = element.Prev() {
		if e := element.Value.(*Entry); e.Tenant == tenant && admits(from, until, e) {
			entries = append(entries, e)
		}
	}
	return entries
}

// Matches returns whether the attributes of an entry match all selectors. The error is [selector.ErrExpensive] or that of ctx.
func (e *Entry) Matches(ctx context.Context, wanted []selector.Selector) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return e.Has(wanted), selector.Check(wanted)
}

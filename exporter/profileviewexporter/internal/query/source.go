// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"fmt"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/selector"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// Source has the profiles that requests select, and the labels of samples with the IDs of traces and spans. SpanLabel can be empty.
type Source struct {
	Store                 *store.Store
	TraceLabel, SpanLabel string
}

// Request selects the samples of one profile type.
type Request struct {
	// Tenant, TypeID and Labels are the tenant, the ID of the profile type, and label selectors such as {service_name="shop"}.
	Tenant, TypeID, Labels string
	// Start and End are both included.
	Start, End        time.Time
	TraceIDs, SpanIDs []string
}

// Select returns what a request selects. work counts its memory, and can end the work.
func (s *Source) Select(r *Request, work *meter.Meter) (*Selection, error) {
	id, err := checkType(r.TypeID)
	if err != nil {
		return nil, err
	}
	selectors, err := selector.Parse(r.Labels)
	if err != nil {
		return nil, err
	}
	filter, err := s.Filter(selectors, r.TraceIDs, r.SpanIDs)
	if err != nil {
		return nil, err
	}
	profiles, err := s.Search(r.Tenant, r.Start, r.End, filter, work)
	if err != nil {
		return nil, err
	}
	return Select(profiles, filter, func(p *store.Profile, column int) bool { return p.Columns[column].ID == id }, work)
}

// Filter returns a filter with selectors and the IDs of traces and spans.
func (s *Source) Filter(selectors []selector.Selector, traceIDs, spanIDs []string) (*Filter, error) {
	traces, err := newLink(s.TraceLabel, "trace", traceIDs, traceBytes)
	if err != nil {
		return nil, err
	}
	spans, err := newLink(s.SpanLabel, "span", spanIDs, spanBytes)
	if err != nil {
		return nil, err
	}
	return NewFilter(selectors, traces, spans)
}

// The memory of a profile in a list, and the work to look at one.
const (
	profileBytes = 64
	profileWork  = 1 << 10
)

// Search returns the profiles of a time range that a filter does not exclude.
func (s *Source) Search(tenant string, start, end time.Time, filter *Filter, work *meter.Meter) ([]*store.Profile, error) {
	if end.Before(start) {
		return nil, fmt.Errorf("%w: the start %s is after the end %s", selector.ErrInvalid, start.Format(time.RFC3339), end.Format(time.RFC3339))
	}
	if err := work.Use(filter.Bytes()); err != nil {
		return nil, err
	}
	profiles, _ := s.Store.Search(&store.Query{Tenant: tenant, Matches: func(p *store.Profile) bool {
		_, within := p.Within(start, end)
		return within && work.Advance(profileWork) == nil && filter.Profile(p)
	}})
	if err := work.Use(profileBytes * int64(len(profiles))); err != nil {
		return nil, err
	}
	return profiles, filter.Err()
}

// typeParts is the least number of parts of the ID of a profile type. There are more if a name has a colon, and one that says that the
// values are deltas.
const typeParts = 5

// checkType returns an error if a text is not the ID of a profile type.
func checkType(id string) (string, error) {
	id = strings.TrimSuffix(id, ":delta")
	if parts := strings.Split(id, ":"); len(parts) < typeParts {
		return "", fmt.Errorf("%w: a profile type must be <name>:<sample type>:<sample unit>:<period type>:<period unit>, %.100q has %d parts",
			selector.ErrInvalid, id, len(parts))
	}
	return id, nil
}

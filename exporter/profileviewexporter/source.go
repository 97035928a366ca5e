// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"cmp"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
)

// criteria select the samples of one profile type.
type criteria struct {
	// typeID and labels are the ID of the profile type, and label selectors such as {service_name="shop"}.
	typeID, labels string
	// start and end are both included.
	start, end        time.Time
	traceIDs, spanIDs []string
}

// typeParts is the least number of parts of the ID of a profile type. There are more if a name has a colon, and one that says that the
// values are deltas.
const typeParts = 5

// selectSamples returns what criteria select.
func (c *call) selectSamples(by *criteria) (*selection, error) {
	id := strings.TrimSuffix(by.typeID, ":delta")
	if parts := strings.Count(id, ":") + 1; parts < typeParts {
		return nil, invalid("a profile type must be <name>:<sample type>:<sample unit>:<period type>:<period unit>, %.100q has %d parts", id, parts)
	}
	selectors, err := parseSelectors(by.labels)
	if err != nil {
		return nil, err
	}
	filter, err := c.newFilter(selectors, by.traceIDs, by.spanIDs)
	if err != nil {
		return nil, err
	}
	profiles, err := c.within(by.start, by.end, filter)
	if err != nil {
		return nil, err
	}
	return c.selection(profiles, filter, id)
}

// within returns the profiles of a time range that a filter does not exclude.
func (c *call) within(start, end time.Time, filter *filter) ([]*store.Profile, error) {
	if end.Before(start) {
		return nil, invalid("the start %s is after the end %s", start.Format(time.RFC3339), end.Format(time.RFC3339))
	}
	found, _, err := c.search(&store.Query{Matches: func(p *store.Profile) bool {
		_, within := p.Within(start, end)
		return within
	}}, filter)
	return found, err
}

// The memory of a profile in a list, and the work to look at one.
const (
	profileBytes = 64
	profileWork  = 1 << 10
)

// search returns the profiles of a query that a filter does not exclude. known is true if the store has profiles of the service and type.
func (c *call) search(q *store.Query, filter *filter) (found []*store.Profile, known bool, err error) {
	if err := c.work.Use(filter.bytes()); err != nil {
		return nil, false, err
	}
	matches := q.Matches
	q.Tenant = c.tenant
	q.Matches = func(p *store.Profile) bool {
		return c.work.Advance(profileWork) == nil && (matches == nil || matches(p)) && filter.profile(p)
	}
	found, known = c.store.Search(q)
	return found, known, cmp.Or(filter.err(), c.work.Use(profileBytes*int64(len(found))))
}

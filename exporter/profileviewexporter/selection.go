// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
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
	return c.selectWithin(by, selectors, id)
}

// selectWithin returns what selectors select with the IDs and in the time of criteria: sample types with an ID, or all if it is empty.
func (c *call) selectWithin(by *criteria, selectors []selector, id string) (*selection, error) {
	filter, err := c.newFilter(selectors, by.traceIDs, by.spanIDs)
	if err != nil {
		return nil, err
	}
	if by.end.Before(by.start) {
		return nil, invalid("the start %s is after the end %s", by.start.Format(time.RFC3339), by.end.Format(time.RFC3339))
	}
	found, _, err := c.search(&store.Query{Matches: func(p *store.Profile) bool {
		_, within := p.Within(by.start, by.end)
		return within
	}}, filter)
	if err != nil {
		return nil, err
	}
	return c.selection(found, filter, id)
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
		return c.work.Advance(profileWork) == nil && (matches == nil || matches(p)) && !filter.resource(p.Resource).rejected
	}
	found, known = c.store.Search(q)
	return found, known, cmp.Or(filter.err(), c.work.Use(profileBytes*int64(len(found))))
}

// selection is what a query selects: profiles, some of their sample types, and some of their samples.
type selection struct {
	parts  []selectedPart
	filter *filter
	// profiles are the profiles, in order of arrival.
	profiles []*store.Profile
}

// selectedPart is the part of a selection whose samples have the same symbols.
type selectedPart struct {
	table    *store.Table
	profiles []selectedProfile
}

// selectedProfile is a profile of a selection.
type selectedProfile struct {
	*store.Profile
	// wanted are the positions of the sample types that the query wants, and columns those whose values count.
	wanted, columns []int
	// keeps returns whether samples with these labels count. It is nil if all do.
	keeps func(labels uint32) bool
}

// samples iterates over the samples that count.
func (p *selectedProfile) samples(yield func(store.Sample) bool) {
	p.Samples.All(func(s store.Sample) bool { return p.keeps != nil && !p.keeps(s.Labels) || yield(s) })
}

// columnWork is the work to look at a sample type of a profile.
const columnWork = 64

// selection returns the selection of profiles that match a filter, with the sample types of an ID, or all if it is empty.
func (c *call) selection(profiles []*store.Profile, filter *filter, id string) (*selection, error) {
	const profileBytes, columnBytes = 136, 24
	s := &selection{filter: filter}
	parts := map[*store.Block]int{}
	for _, p := range profiles {
		of := int64(len(p.Columns))
		if err := cmp.Or(c.work.Advance(columnWork*of), c.work.Need(columnBytes*of)); err != nil {
			return nil, err
		}
		var columns []int
		for i := range p.Columns {
			if (id == "" || p.Columns[i].ID == id) && filter.column(p, i) {
				columns = append(columns, i)
			}
		}
		if len(columns) == 0 {
			continue
		}
		at, found := parts[p.Block]
		if !found {
			at = len(s.parts)
			parts[p.Block] = at
			s.parts = append(s.parts, selectedPart{table: p.Block.Table()})
		}
		keeps := filter.keeps(p)
		if err := c.work.Use(profileBytes + columnBytes*int64(len(columns))); err != nil {
			return nil, err
		}
		s.parts[at].profiles = append(s.parts[at].profiles, selectedProfile{Profile: p, wanted: columns, columns: columns, keeps: keeps})
		s.profiles = append(s.profiles, p)
	}
	return s, nil
}

// unit returns the unit of the first sample type that the query wants.
func (s *selection) unit() string {
	for p := range s.each {
		return p.Columns[p.wanted[0]].Unit
	}
	return ""
}

// gaugeKey identifies a sample type of a resource, in a step of time, whose values are a state at one time.
type gaugeKey struct {
	resource, id string
	step         int64
}

// gaugeBytes is the most memory of such a key and a time in a map that grows.
const gaugeBytes = 224

// keepLatest leaves out the values of earlier profiles if they are a state at one time: of each resource, those of the latest profile
// in a step count. All profiles of that time do, such as the parts of one capture.
func (s *selection) keepLatest(work *meter.Meter, stepOf func(p *selectedProfile) int64) error {
	latest := map[gaugeKey]time.Time{}
	for p := range s.each {
		for _, i := range p.columns {
			if !p.Columns[i].IsGauge {
				continue
			}
			key := gaugeKey{p.Resource.Key, p.Columns[i].ID, stepOf(p)}
			if at, found := latest[key]; found && !p.End.After(at) || work.Need(gaugeBytes*int64(len(latest)+1)) != nil {
				continue
			}
			latest[key] = p.End
		}
		if err := work.Advance(columnWork * int64(len(p.columns))); err != nil {
			return err
		}
	}
	for p := range s.each {
		p.columns = slices.DeleteFunc(slices.Clone(p.columns), func(i int) bool {
			return p.Columns[i].IsGauge && !p.End.Equal(latest[gaugeKey{p.Resource.Key, p.Columns[i].ID, stepOf(p)}])
		})
		if err := work.Advance(columnWork * int64(len(p.columns))); err != nil {
			return err
		}
	}
	return nil
}

// oneStep is the step of all profiles where time has no steps.
func oneStep(*selectedProfile) int64 { return 0 }

// each iterates over all profiles.
func (s *selection) each(yield func(*selectedProfile) bool) {
	for i := range s.parts {
		for j := range s.parts[i].profiles {
			if !yield(&s.parts[i].profiles[j]) {
				return
			}
		}
	}
}

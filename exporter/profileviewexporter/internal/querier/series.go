// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
)

func (s *Server) selectSeries(c *call, r *querierv1.SelectSeriesRequest) (*querierv1.SelectSeriesResponse, error) {
	if r.GetStackTraceSelector() != nil {
		return nil, unimplemented("stack_trace_selector is not offered for series")
	}
	if err := checkNames(r.GetGroupBy()); err != nil {
		return nil, err
	}
	selecting := c.request(r.GetProfileTypeID(), r.GetLabelSelector(), r.GetStart(), r.GetEnd())
	selection, err := c.server.Select(selecting, c.work)
	if err != nil {
		return nil, err
	}
	g := grouping{call: c, Request: selecting, step: time.Duration(r.GetStep() * float64(time.Second)), by: r.GetGroupBy(), groups: map[string]*group{}}
	if whole := min(g.End.Sub(g.Start), longest); g.step <= 0 || g.step > whole {
		g.step = whole + 1
	}
	for i := range selection.Parts {
		if err := g.addPart(&selection.Parts[i]); err != nil {
			return nil, err
		}
	}
	isAverage := r.GetAggregation() == typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE
	return &querierv1.SelectSeriesResponse{Series: g.series(isAverage, r.GetLimit())}, selection.Err()
}

// longest limits a step: sums of it and of times of profiles do not overflow.
const longest = 100 * 365 * 24 * time.Hour

// grouping sums profiles by labels and time. bytes is the memory of labels.
type grouping struct {
	*call
	*query.Request
	step   time.Duration
	by     []string
	groups map[string]*group
	points int64
	bytes  int64
}

// group has the points of a series, by the number of their step.
type group struct {
	labels []*typesv1.LabelPair
	points map[int64]*point
	total  float64
}

// point is the sum of the profiles of a step. Of values that are a state at one time, it has the latest of each resource.
type point struct {
	sum    float64
	count  int
	latest map[string]state
}

type state struct {
	at  time.Time
	sum float64
}

// addPart adds the profiles of a part.
func (g *grouping) addPart(part *query.Part) error {
	for i := range part.Profiles {
		p := &part.Profiles[i]
		at, _ := p.Within(g.Start, g.End)
		labels := labelsOf(p.Profile, p.Columns[0], g.by)
		if len(g.by) == 0 {
			labels = nil
		}
		// The labels that the resource does not have can be labels of samples.
		var missing []string
		for _, name := range g.by {
			if query.Label(p.Profile, p.Columns[0], name) == "" {
				missing = append(missing, name)
			}
		}
		if len(missing) == 0 && p.Keeps == nil {
			if err := g.add(labels, at, p, float64(p.Samples.Totals[p.Columns[0]])); err != nil {
				return err
			}
			continue
		}
		if err := g.addSamples(part, p, at, labels, missing); err != nil {
			return err
		}
	}
	return nil
}

// addSamples adds the samples of a profile, grouped by some of their labels.
func (g *grouping) addSamples(part *query.Part, p *query.Chosen, at time.Time, labels []*typesv1.LabelPair, by []string) error {
	sums := map[string]float64{}
	groups := map[string][]*typesv1.LabelPair{}
	keys := map[uint32]string{}
	added := int64(0) // the memory of groups
	for s := range p.Samples.All() {
		if p.Keeps != nil && !p.Keeps(s.Labels) {
			continue
		}
		key, known := keys[s.Labels]
		if !known {
			own := slices.Clone(labels)
			for _, name := range by {
				if values := query.LabelValues(part.Table, s.Labels, name); len(values) > 0 && values[0] != "" {
					own = append(own, &typesv1.LabelPair{Name: name, Value: values[0]})
				}
			}
			slices.SortFunc(own, func(a, b *typesv1.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
			key = keyOf(own)
			if groups[key] == nil {
				added += bytesOf(own)
			}
			keys[s.Labels], groups[key] = key, own
			if err := g.work.Need(pointBytes*(g.points+int64(len(keys))) + g.bytes + added); err != nil {
				return err
			}
		}
		sums[key] += float64(s.Values[p.Columns[0]])
	}
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		if err := g.add(groups[key], at, p, sums[key]); err != nil {
			return err
		}
	}
	return nil
}

// pointBytes is the memory of a point, with its part of the maps and of the answer.
const pointBytes = 512

// add adds a value to a group. The time of a point is the end of its step, which is a part of it.
func (g *grouping) add(labels []*typesv1.LabelPair, at time.Time, p *query.Chosen, value float64) error {
	key := keyOf(labels)
	in := g.groups[key]
	if in == nil {
		in = &group{labels: labels, points: map[int64]*point{}}
		g.groups[key] = in
		g.bytes += bytesOf(labels)
	}
	step := int64((at.Sub(g.Start) + g.step - 1) / g.step)
	to := in.points[step]
	if to == nil {
		g.points++
		if err := g.work.Need(pointBytes*g.points + g.bytes); err != nil {
			return err
		}
		to = &point{}
		in.points[step] = to
	}
	if !p.Profile.Columns[p.Columns[0]].IsGauge {
		to.sum += value
		to.count++
		return nil
	}
	if to.latest == nil {
		to.latest = map[string]state{}
	}
	last := to.latest[p.Resource.Key()]
	switch {
	case p.End.After(last.at):
		to.latest[p.Resource.Key()] = state{p.End, value}
	case p.End.Equal(last.at):
		to.latest[p.Resource.Key()] = state{p.End, last.sum + value}
	}
	return nil
}

// value returns the value of a point.
func (p *point) value(isAverage bool) float64 {
	sum, count := p.sum, p.count
	for _, s := range p.latest {
		sum += s.sum
		count++
	}
	if isAverage && count > 0 {
		return sum / float64(count)
	}
	return sum
}

// series returns the series, sorted by their labels. With a limit, these are the ones with the largest totals.
func (g *grouping) series(isAverage bool, limit int64) []*typesv1.Series {
	all := map[string]*typesv1.Series{}
	for key, in := range g.groups {
		one := &typesv1.Series{Labels: in.labels}
		for _, step := range slices.Sorted(maps.Keys(in.points)) {
			value := in.points[step].value(isAverage)
			in.total += value
			one.Points = append(one.Points, &typesv1.Point{Value: value, Timestamp: g.Start.Add(time.Duration(step) * g.step).UnixMilli()})
		}
		all[key] = one
	}
	keys := slices.Sorted(maps.Keys(all))
	if limit > 0 && int64(len(keys)) > limit {
		slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(g.groups[b].total, g.groups[a].total) })
		keys = keys[:limit]
		slices.Sort(keys)
	}
	answer := make([]*typesv1.Series, len(keys))
	for i, key := range keys {
		answer[i] = all[key]
	}
	return answer
}

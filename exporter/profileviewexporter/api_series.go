// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"cmp"
	"maps"
	"slices"
	"time"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

func (c *call) selectSeries(r *querierv1.SelectSeriesRequest) (*querierv1.SelectSeriesResponse, error) {
	if r.GetStackTraceSelector() != nil {
		return nil, unimplemented("stack_trace_selector is not offered for series")
	}
	if err := checkNames(r.GetGroupBy()); err != nil {
		return nil, err
	}
	selecting := newCriteria(r.GetProfileTypeID(), r.GetLabelSelector(), r.GetStart(), r.GetEnd())
	selection, err := c.selectSamples(selecting)
	if err != nil {
		return nil, err
	}
	g := grouping{
		call: c, criteria: selecting, filter: selection.filter, step: time.Duration(r.GetStep() * float64(time.Second)), by: r.GetGroupBy(),
		groups: map[string]*group{},
	}
	if whole := min(g.end.Sub(g.start), longest); g.step <= 0 || g.step > whole {
		g.step = whole + 1
	}
	if err := selection.keepLatest(c.work, g.stepOf); err != nil {
		return nil, err
	}
	for i := range selection.parts {
		if err := g.addPart(&selection.parts[i]); err != nil {
			return nil, err
		}
	}
	isAverage := r.GetAggregation() == typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE
	return &querierv1.SelectSeriesResponse{Series: g.series(isAverage, r.GetLimit())}, selection.filter.err()
}

// longest limits a step: sums of it and of times of profiles do not overflow.
const longest = 100 * 365 * 24 * time.Hour

// stepOf returns the number of the step of a profile.
func (g *grouping) stepOf(p *selectedProfile) int64 {
	at, _ := p.Within(g.start, g.end)
	return int64((at.Sub(g.start) + g.step - 1) / g.step)
}

// grouping sums profiles by labels and time.
type grouping struct {
	*call
	*criteria
	filter *filter
	step   time.Duration
	by     []string
	groups map[string]*group
}

// group has the points of a series, by the number of their step.
type group struct {
	series typesv1.Series
	points map[int64]*point
	total  float64
}

// point is the sum of the profiles of a step that count, and their number. States of a resource count once.
type point struct {
	sum    float64
	count  int
	states map[string]bool
}

// addPart adds the profiles of a part.
func (g *grouping) addPart(part *selectedPart) error {
	var reader *labelReader
	if len(g.by) > 0 {
		if reader = g.filter.reader(part.table, g.by); reader == nil {
			return g.work.Err()
		}
	}
	for i := range part.profiles {
		p := &part.profiles[i]
		if err := cmp.Or(g.work.Advance(profileWork), g.filter.err()); err != nil {
			return err
		}
		column, step := p.wanted[0], g.stepOf(p)
		labels := labelsOf(p.Profile, column, g.by)
		// The labels that the resource does not have can be labels of samples.
		missing := slices.DeleteFunc(upTo(len(g.by)), func(i int) bool { return labelOf(p.Profile, column, g.by[i]) != "" })
		sums := map[string]*sampleSum{"": {labels, float64(p.Samples.Totals[column])}}
		if len(missing) > 0 || p.keeps != nil {
			var err error
			if sums, err = g.sumSamples(reader, p, labels, missing); err != nil {
				return err
			}
		}
		for _, sum := range sums {
			if err := g.add(sum, step, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// sampleSum is the sum of the samples of a profile with some labels.
type sampleSum struct {
	labels []*typesv1.LabelPair
	value  float64
}

// sumSamples sums the samples of a profile by some of their labels. missing are the positions of their names.
func (g *grouping) sumSamples(reader *labelReader, p *selectedProfile, labels []*typesv1.LabelPair, missing []int) (map[string]*sampleSum, error) {
	sums, known := map[string]*sampleSum{}, map[uint32]*sampleSum{}
	added := int64(0) // the memory of sums
	for s := range p.samples {
		to := known[s.Labels]
		if to == nil {
			own := slices.Clone(labels)
			if len(missing) > 0 {
				values := reader.read(s.Labels)
				for _, i := range missing {
					if len(values[i]) > 0 && values[i][0] != "" {
						own = append(own, &typesv1.LabelPair{Name: g.by[i], Value: values[i][0]})
					}
				}
			}
			slices.SortFunc(own, compareNames)
			key := keyOf(own)
			if to = sums[key]; to == nil {
				added += bytesOf(own)
				to = &sampleSum{labels: own}
				sums[key] = to
			}
			known[s.Labels] = to
			if err := g.work.Need(pointBytes*int64(len(known)) + added); err != nil {
				return nil, err
			}
		}
		to.value += float64(s.Values[p.wanted[0]])
	}
	return sums, nil
}

// pointBytes is the memory of a point, with its part of the maps and of the answer, and stateBytes that of a resource in a point.
const (
	pointBytes = 512
	stateBytes = 64
)

// add adds a sum of a profile to a group. The time of a point is the end of its step, which is a part of it.
func (g *grouping) add(sum *sampleSum, step int64, p *selectedProfile) error {
	key := keyOf(sum.labels)
	in := g.groups[key]
	if in == nil {
		in = &group{series: typesv1.Series{Labels: sum.labels}, points: map[int64]*point{}}
		g.groups[key] = in
		_ = g.work.Use(bytesOf(sum.labels)) // The next call returns the error.
	}
	to := in.points[step]
	if to == nil {
		if err := g.work.Use(pointBytes); err != nil {
			return err
		}
		to = &point{states: map[string]bool{}}
		in.points[step] = to
	}
	if len(p.columns) == 0 { // an earlier state
		return nil
	}
	to.sum += sum.value
	if p.Columns[p.columns[0]].IsGauge {
		if to.states[p.Resource.Key] {
			return nil
		}
		_ = g.work.Use(stateBytes)
		to.states[p.Resource.Key] = true
	}
	to.count++
	return g.work.Err()
}

// series returns the series, sorted by their labels. With a limit, these are the ones with the largest totals.
func (g *grouping) series(isAverage bool, limit int64) (all []*typesv1.Series) {
	for _, in := range g.groups {
		for _, step := range slices.Sorted(maps.Keys(in.points)) {
			value := in.points[step].sum
			if isAverage {
				value /= float64(max(in.points[step].count, 1))
			}
			in.total += value
			in.series.Points = append(in.series.Points, &typesv1.Point{Value: value, Timestamp: g.start.Add(time.Duration(step) * g.step).UnixMilli()})
		}
	}
	keys := slices.Sorted(maps.Keys(g.groups))
	if limit > 0 && int64(len(keys)) > limit {
		slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(g.groups[b].total, g.groups[a].total) })
		keys = keys[:limit]
		slices.Sort(keys)
	}
	for _, key := range keys {
		all = append(all, &g.groups[key].series)
	}
	return all
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"cmp"
	"maps"
	"net/http"
	"slices"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
)

// maxValues limits the values of a label, the series, and the profile types, in an answer. maxMatchers and maxNames limit the matchers of a
// request, and the names of labels.
const (
	maxValues   = 10_000
	maxMatchers = 32
	maxNames    = 32
)

// The memory of a label in an answer, beside a multiple of its texts.
const (
	pairBytes = 160
	pairCost  = 6
	// The same of a profile type, whose answer has the parts of the ID again.
	profileTypeBytes = 1280
	profileTypeCost  = 2 * pairCost
)

// checkNames returns an error if a request has too many names of labels.
func checkNames(names []string) error {
	if len(names) > maxNames {
		return fail(http.StatusBadRequest, "%d names of labels are given, the limit is %d", len(names), maxNames)
	}
	return nil
}

// measured identifies profiles with equal labels.
type measured struct {
	resource *store.Resource
	labels   string
}

// each calls visit with each sample type of the profiles that a request selects, once for profiles with the same labels. An absent matcher
// selects everything, and several select what one of them does: all has a selection for each.
func (c *call) each(matchers []string, start, end int64, visit func(p *store.Profile, column int)) (all []*selection, err error) {
	switch {
	case len(matchers) > maxMatchers:
		return nil, fail(http.StatusBadRequest, "%d matchers are given, the limit is %d", len(matchers), maxMatchers)
	case len(matchers) == 0:
		matchers = []string{"{}"}
	}
	by := newCriteria("", "", start, end)
	var parsed []selector
	for _, text := range matchers {
		selectors, err := parseSelectors(text)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, selectors...)
		if err := limitSelectors(parsed); err != nil { // of all matchers
			return nil, err
		}
		selection, err := c.selectWithin(by, selectors, "")
		if err != nil {
			return nil, err
		}
		all = append(all, selection)
		seen := map[measured]bool{}
		for p := range selection.each {
			if seen[measured{p.Resource, p.Labels}] {
				continue
			}
			seen[measured{p.Resource, p.Labels}] = true
			for _, i := range p.columns {
				if err := c.work.Advance(labelWork * int64(len(p.Resource.Labels))); err != nil {
					return nil, err
				}
				visit(p.Profile, i)
			}
		}
		if err := selection.filter.err(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (c *call) profileTypes(r *querierv1.ProfileTypesRequest) (*querierv1.ProfileTypesResponse, error) {
	types := map[string]*typesv1.ProfileType{}
	_, err := c.each(nil, r.GetStart(), r.GetEnd(), func(p *store.Profile, column int) {
		t := &p.Columns[column]
		if types[t.ID] != nil || len(types) == maxValues || c.work.Use(profileTypeBytes+profileTypeCost*int64(len(t.ID))) != nil {
			return
		}
		types[t.ID] = &typesv1.ProfileType{
			ID: t.ID, Name: p.Name, SampleType: t.Name, SampleUnit: t.Unit, PeriodType: p.PeriodType.Name, PeriodUnit: p.PeriodType.Unit,
		}
	})
	answer := &querierv1.ProfileTypesResponse{}
	for _, id := range slices.Sorted(maps.Keys(types)) {
		answer.ProfileTypes = append(answer.ProfileTypes, types[id])
	}
	return answer, err
}

// texts are different texts of an answer, whose memory the call counts.
type texts struct {
	call *call
	all  map[string]bool
}

func (t *texts) add(text string) {
	if text != "" && !t.all[text] && t.call.work.Use(pairBytes+pairCost*int64(len(text))) == nil {
		t.all[text] = true
	}
}

func (c *call) labelNames(r *typesv1.LabelNamesRequest) (*typesv1.LabelNamesResponse, error) {
	names, named := texts{c, map[string]bool{}}, map[*store.Resource]bool{}
	selected, err := c.each(r.GetMatchers(), r.GetStart(), r.GetEnd(), func(p *store.Profile, _ int) {
		if named[p.Resource] {
			return
		}
		named[p.Resource] = true
		for _, name := range namesOf(p) {
			names.add(name)
		}
	})
	err = cmp.Or(err, c.sampleLabels(selected, func(name, _ string) { names.add(name) }))
	return &typesv1.LabelNamesResponse{Names: slices.Sorted(maps.Keys(names.all))}, err
}

// labelWork is the work to look at a label.
const labelWork = 32

// sampleLabels calls visit with the labels of selected samples that are text. It leaves out IDs, which are of little use in a list.
func (c *call) sampleLabels(selected []*selection, visit func(name, value string)) error {
	for _, s := range selected {
		for i := range s.parts {
			c.partLabels(&s.parts[i], visit)
		}
		if err := s.filter.err(); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) partLabels(part *selectedPart, visit func(name, value string)) {
	const sampleWork = 8
	links, rows := c.cfg.Encoding.LinkLabels, part.table.Labels.Rows
	if len(rows) == 1 || c.work.Need(int64(len(rows))) != nil { // Most profiles have no labels.
		return
	}
	seen := make([]bool, len(rows))
	seen[0] = true
	for _, p := range part.profiles {
		for s := range p.Samples.All {
			if c.work.Advance(sampleWork) != nil {
				return
			}
			hasValue := func(column int) bool { return s.Values[column] != 0 }
			if seen[s.Labels] || p.keeps != nil && !p.keeps(s.Labels) || !slices.ContainsFunc(p.columns, hasValue) {
				continue
			}
			for at := s.Labels; !seen[at] && c.work.Advance(labelWork) == nil; at = rows[at].Next { // those after one that was seen were, too
				seen[at] = true
				key := part.table.Text(rows[at].Key)
				if name := series.Name(key); rows[at].Text != 0 && name != "" && key != links.Trace && key != links.Span {
					visit(name, part.table.Text(rows[at].Text))
				}
			}
		}
	}
}

func (c *call) labelValues(r *typesv1.LabelValuesRequest) (*typesv1.LabelValuesResponse, error) {
	if r.GetName() == "" {
		return nil, fail(http.StatusBadRequest, "the name of the label is missing")
	}
	values := texts{c, map[string]bool{}}
	selected, err := c.each(r.GetMatchers(), r.GetStart(), r.GetEnd(), func(p *store.Profile, column int) {
		values.add(labelOf(p, column, r.GetName()))
	})
	err = cmp.Or(err, c.sampleLabels(selected, func(name, value string) {
		if name == r.GetName() {
			values.add(value)
		}
	}))
	all := slices.Sorted(maps.Keys(values.all))
	return &typesv1.LabelValuesResponse{Names: all[:min(len(all), maxValues)]}, err
}

func (c *call) listSeries(r *querierv1.SeriesRequest) (*querierv1.SeriesResponse, error) {
	if err := checkNames(r.GetLabelNames()); err != nil {
		return nil, err
	}
	all := map[string]*typesv1.Labels{}
	_, err := c.each(r.GetMatchers(), r.GetStart(), r.GetEnd(), func(p *store.Profile, column int) {
		names := r.GetLabelNames()
		if len(names) == 0 {
			names = namesOf(p)
		}
		labels := labelsOf(p, column, names)
		if key := keyOf(labels); all[key] == nil && c.work.Use(bytesOf(labels)) == nil {
			all[key] = &typesv1.Labels{Labels: labels}
		}
	})
	answer := &querierv1.SeriesResponse{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		answer.LabelsSet = append(answer.LabelsSet, all[key])
	}
	answer.LabelsSet = answer.LabelsSet[:min(len(answer.LabelsSet), maxValues)]
	return answer, err
}

// namesOf returns the names of all labels of a profile.
func namesOf(p *store.Profile) []string {
	names := slices.Clone(privateLabels)
	for _, l := range p.Resource.Labels {
		names = append(names, l.Name)
	}
	return names
}

// labelsOf returns the labels with these names, sorted by name.
func labelsOf(p *store.Profile, column int, names []string) (labels []*typesv1.LabelPair) {
	for _, name := range names {
		if value := labelOf(p, column, name); value != "" {
			labels = append(labels, &typesv1.LabelPair{Name: name, Value: value})
		}
	}
	slices.SortFunc(labels, compareNames)
	return labels
}

func compareNames(a, b *typesv1.LabelPair) int { return cmp.Compare(a.Name, b.Name) }

// keyOf returns a text that only equal labels have. It has the order of labels.
func keyOf(labels []*typesv1.LabelPair) string {
	var key []byte
	for _, l := range labels {
		key = append(append(key, l.Name...), 0)
		key = append(append(key, l.Value...), 1)
	}
	return string(key)
}

// bytesOf returns the memory of labels, with their key and their part of the answer.
func bytesOf(labels []*typesv1.LabelPair) int64 {
	bytes := int64(pairBytes)
	for _, l := range labels {
		bytes += pairBytes + pairCost*int64(len(l.Name)+len(l.Value))
	}
	return bytes
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package query selects profiles and samples of a store.
package query // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/selector"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/symbols"
)

// Filter selects profiles and samples. It remembers results, and is not safe for concurrent use. A nil filter selects everything.
type Filter struct {
	selectors []selector.Selector
	links     []Link
	resources map[*store.Resource]undecided
	samples   map[sampleKey]*decided
}

// Link selects the samples whose label has one of some values, such as trace IDs.
type Link struct {
	Label  string
	Values []string
}

// newLink returns a link for IDs of a length in bytes, which must be hexadecimal. kind names them in errors.
func newLink(label, kind string, ids []string, length int) (l Link, err error) {
	if len(ids) > maxIDs {
		return l, fmt.Errorf("%w: %d IDs of a %s are given, the limit is %d", selector.ErrInvalid, len(ids), kind, maxIDs)
	}
	if len(ids) > 0 && label == "" {
		return l, fmt.Errorf("%w: samples have no %s label: the option link_labels::%s is empty", selector.ErrInvalid, kind, kind)
	}
	l.Label = label
	for _, id := range ids {
		if raw, err := hex.DecodeString(id); err != nil || len(raw) != length {
			return l, fmt.Errorf("%w: the ID of a %s must be %d bytes in hexadecimal, not %.40q", selector.ErrInvalid, kind, length, id)
		}
		l.Values = append(l.Values, strings.ToLower(id))
	}
	return l, nil
}

// maxIDs limits the IDs of a request. traceBytes and spanBytes are their lengths.
const (
	maxIDs     = 100
	traceBytes = 16
	spanBytes  = 8
)

// undecided are the selectors that the attributes of a resource do not decide, as bits by position. Others are about the profile type, or
// about samples.
type undecided struct {
	rejected        bool
	columns, labels uint32
}

type sampleKey struct {
	block     *store.Block
	selectors uint32
}

// decided has a result for each set of labels of a block.
type decided struct {
	table   *symbols.Table
	results []result
}

type result byte

const (
	unknown result = iota
	selected
	excluded
)

// privatePrefix is the start of the labels that say what a profile measures.
const privatePrefix = "__"

// NewFilter returns a filter.
func NewFilter(selectors []selector.Selector, links ...Link) (*Filter, error) {
	if err := selector.Limit(selectors); err != nil {
		return nil, err
	}
	return &Filter{
		selectors: selectors, links: slices.DeleteFunc(links, func(l Link) bool { return len(l.Values) == 0 }),
		resources: map[*store.Resource]undecided{}, samples: map[sampleKey]*decided{},
	}, nil
}

// Bytes returns the memory of the regular expressions.
func (f *Filter) Bytes() int64 { return selector.Bytes(f.selectors) }

// Err returns an error if the filter was too expensive. Then its results are wrong.
func (f *Filter) Err() error { return selector.Check(f.selectors) }

// Profile returns whether the resource of a profile does not exclude it.
func (f *Filter) Profile(p *store.Profile) bool { return !f.resource(p.Resource).rejected }

func (f *Filter) resource(r *store.Resource) undecided {
	u, known := f.resources[r]
	if !known {
		u = f.decide(r)
		f.resources[r] = u
	}
	return u
}

func (f *Filter) decide(r *store.Resource) (u undecided) {
	for i := range f.selectors {
		s := &f.selectors[i]
		switch value, found := r.Label(s.Key); {
		case s.Scope == selector.Sample:
			u.labels |= 1 << i
		case s.Scope == selector.Attribute:
			if value, found = r.Attribute(s.Key); found {
				u.rejected = u.rejected || !s.Matches(value)
			} else {
				u.rejected = u.rejected || !s.Matches()
			}
		case found:
			u.rejected = u.rejected || !s.Matches(value)
		case strings.HasPrefix(s.Key, privatePrefix):
			u.columns |= 1 << i
		default:
			u.labels |= 1 << i
		}
	}
	return u
}

// Column returns whether a sample type of a profile is selected.
func (f *Filter) Column(p *store.Profile, column int) bool {
	undecided := f.resource(p.Resource).columns
	for i := range f.selectors {
		if undecided&(1<<i) != 0 && !f.selectors[i].Matches(privateLabel(p, column, f.selectors[i].Key)) {
			return false
		}
	}
	return true
}

// Samples returns a function that returns whether samples with these labels are selected. It is nil if all samples of the profile are. It
// must not be called before the last profile of the query is found.
func (f *Filter) Samples(p *store.Profile) func(labels uint32) bool {
	undecided := f.resource(p.Resource).labels
	if undecided == 0 && len(f.links) == 0 {
		return nil
	}
	key := sampleKey{p.Block, undecided}
	d := f.samples[key]
	if d == nil {
		d = &decided{table: p.Block.Table()}
		d.results = make([]result, len(d.table.Labels.Rows))
		f.samples[key] = d
	}
	return func(labels uint32) bool {
		if d.results[labels] == unknown {
			d.results[labels] = excluded
			if f.matches(d.table, undecided, labels) {
				d.results[labels] = selected
			}
		}
		return d.results[labels] == selected
	}
}

func (f *Filter) matches(table *symbols.Table, undecided, labels uint32) bool {
	for i := range f.selectors {
		if undecided&(1<<i) != 0 && !f.selectors[i].Matches(LabelValues(table, labels, f.selectors[i].Key)...) {
			return false
		}
	}
	for _, link := range f.links {
		has := func(value string) bool { return slices.Contains(link.Values, strings.ToLower(value)) }
		if !slices.ContainsFunc(LabelValues(table, labels, link.Label), has) {
			return false
		}
	}
	return true
}

// LabelValues returns the values of a label of samples, numbers as text.
func LabelValues(table *symbols.Table, labels uint32, key string) (values []string) {
	for ; labels != 0; labels = table.Labels.Rows[labels].Next {
		l := &table.Labels.Rows[labels]
		if name := table.Text(l.Key); name != key && series.Name(name) != key {
			continue
		}
		if l.Text != 0 || l.Number == 0 {
			values = append(values, table.Text(l.Text))
		} else {
			values = append(values, strconv.FormatInt(l.Number, 10))
		}
	}
	return values
}

// The labels that say what a profile measures.
const (
	labelProfileType = "__profile_type__"
	labelName        = "__name__"
	labelType        = "__type__"
	labelUnit        = "__unit__"
	labelPeriodType  = "__period_type__"
	labelPeriodUnit  = "__period_unit__"
	labelService     = "__service_name__"
)

// PrivateLabels are the names of these labels.
var PrivateLabels = []string{labelName, labelPeriodType, labelPeriodUnit, labelProfileType, labelService, labelType, labelUnit}

// privateLabel returns the value of such a label for a sample type of a profile.
func privateLabel(p *store.Profile, column int, name string) string {
	c := &p.Columns[column]
	switch name {
	case labelProfileType:
		return c.ID
	case labelName:
		return p.Name
	case labelType:
		return c.Name
	case labelUnit:
		return c.Unit
	case labelPeriodType:
		return p.PeriodType.Name
	case labelPeriodUnit:
		return p.PeriodType.Unit
	case labelService:
		return p.Resource.Service
	}
	return ""
}

// Label returns the value of a label of a sample type of a profile. Labels of samples are not considered.
func Label(p *store.Profile, column int, name string) string {
	if value, found := p.Resource.Label(name); found {
		return value
	}
	return privateLabel(p, column, name)
}

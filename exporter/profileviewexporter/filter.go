// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// filter selects profiles and samples. It remembers results, and is not safe for concurrent use.
type filter struct {
	selectors []selector
	resources map[*store.Resource]undecided
	// readers read the labels that the selectors need.
	readers map[*store.Block]*labelReader
	// steps counts the labels that were read.
	steps int64
	work  *meter.Meter
}

// The lengths of IDs in bytes.
const (
	traceBytes = 16
	spanBytes  = 8
)

// newFilter returns a filter with selectors and the IDs of traces and spans.
func (c *call) newFilter(selectors []selector, traceIDs, spanIDs []string) (*filter, error) {
	if err := limitSelectors(selectors); err != nil {
		return nil, err
	}
	f := &filter{
		selectors: selectors, resources: map[*store.Resource]undecided{}, readers: map[*store.Block]*labelReader{}, work: c.work,
	}
	links := c.cfg.Encoding.LinkLabels
	if err := f.addIDs(links.Trace, "trace", traceIDs, traceBytes); err != nil {
		return nil, err
	}
	if err := f.addIDs(links.Span, "span", spanIDs, spanBytes); err != nil {
		return nil, err
	}
	return f, nil
}

// addIDs selects the samples whose label has one of some IDs, if there are any. They must be of a length in bytes, in hexadecimal. kind names
// them in errors.
func (f *filter) addIDs(label, kind string, ids []string, length int) error {
	if len(ids) == 0 {
		return nil
	}
	if label == "" {
		return invalid("samples have no %s label: the option link_labels::%s is empty", kind, kind)
	}
	if len(ids) > maxIDs {
		return invalid("%d IDs of a %s are given, the limit is %d", len(ids), kind, maxIDs)
	}
	s := selector{scope: sampleScope, key: label}
	for _, id := range ids {
		if raw, err := hex.DecodeString(id); err != nil || len(raw) != length {
			return invalid("the ID of a %s must be %d bytes in hexadecimal, not %.40q", kind, length, id)
		}
		s.ids = append(s.ids, strings.ToLower(id))
	}
	f.selectors = append(f.selectors, s)
	return nil
}

// undecided are the selectors that the attributes of a resource do not decide, as bits by position. Others are about the profile type, or
// about samples.
type undecided struct {
	rejected        bool
	columns, labels uint64
}

type result byte

const (
	unknown result = iota
	selected
	excluded
)

// privatePrefix is the start of the labels that say what a profile measures.
const privatePrefix = "__"

// bytes returns the memory of the regular expressions.
func (f *filter) bytes() (bytes int64) {
	for i := range f.selectors {
		if f.selectors[i].isRegexp {
			bytes += expressionBytes
		}
	}
	return bytes
}

// err returns an error if the work has failed, or the filter has made too many steps: each byte of a value can take all steps of an expression.
// Then the results of the filter are wrong.
func (f *filter) err() error {
	work := int64(0)
	for i := range f.selectors {
		work += f.selectors[i].work
	}
	switch {
	case f.steps > maxWork:
		return fail(http.StatusUnprocessableEntity, "the samples have too many labels: more than %d would be read; select a shorter time", maxWork)
	case work > maxWork:
		return fail(http.StatusUnprocessableEntity, "the regular expressions are too expensive: they take more than %d steps for the values in memory; "+
			"write shorter ones or select a shorter time", maxWork)
	}
	return f.work.Err()
}

// resource returns what the attributes of a resource decide.
func (f *filter) resource(r *store.Resource) undecided {
	u, known := f.resources[r]
	if known {
		return u
	}
	for i := range f.selectors {
		s := &f.selectors[i]
		switch value, found := r.Label(s.key); {
		case s.scope == attributeScope:
			value, _ = r.Attribute(s.key) // empty if it is absent
			u.rejected = u.rejected || !s.matches(value)
		case s.scope == anyScope && found:
			u.rejected = u.rejected || !s.matches(value)
		case s.scope == anyScope && strings.HasPrefix(s.key, privatePrefix):
			u.columns |= 1 << i
		default:
			u.labels |= 1 << i
		}
	}
	f.resources[r] = u
	return u
}

// column returns whether a sample type of a profile is selected.
func (f *filter) column(p *store.Profile, column int) bool {
	undecided := f.resource(p.Resource).columns
	for i := range f.selectors {
		if undecided&(1<<i) != 0 && !f.selectors[i].matches(privateLabel(p, column, f.selectors[i].key)) {
			return false
		}
	}
	return true
}

// keeps returns a function that returns whether samples with these labels are selected. It is nil if all samples of the profile are, or if
// the work has failed. It must not be called before the last profile of the query is found.
func (f *filter) keeps(p *store.Profile) func(labels uint32) bool {
	undecided := f.resource(p.Resource).labels
	if undecided == 0 {
		return nil
	}
	reader := f.readers[p.Block]
	if reader == nil {
		names := make([]string, len(f.selectors))
		for i := range f.selectors {
			names[i] = f.selectors[i].key
		}
		if reader = f.reader(p.Block.Table(), names); reader == nil {
			return nil
		}
		f.readers[p.Block] = reader
	}
	results := reader.results[undecided]
	if results == nil {
		if f.work.Use(int64(len(reader.table.Labels.Rows))) != nil {
			return nil
		}
		results = make([]result, len(reader.table.Labels.Rows))
		reader.results[undecided] = results
	}
	return func(labels uint32) bool {
		if results[labels] == unknown {
			results[labels] = excluded
			if f.matches(reader.read(labels), undecided) {
				results[labels] = selected
			}
		}
		return results[labels] == selected
	}
}

// matches returns whether the selectors that are undecided select these values, by selector.
func (f *filter) matches(values [][]string, undecided uint64) bool {
	for i := range f.selectors {
		if undecided&(1<<i) != 0 && !f.selectors[i].matches(values[i]...) {
			return false
		}
	}
	return true
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

// privateLabels are the names of these labels.
var privateLabels = []string{labelName, labelPeriodType, labelPeriodUnit, labelProfileType, labelService, labelType, labelUnit}

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

// labelOf returns the value of a label of a sample type of a profile. Labels of samples are not considered.
func labelOf(p *store.Profile, column int, name string) string {
	if value, found := p.Resource.Label(name); found {
		return value
	}
	return privateLabel(p, column, name)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
)

// column is a heading of the list.
type column struct {
	Name, Link string
	// Number is set for columns of numbers. Sorted is set for the sorted column: ascending or descending.
	Number bool
	Sorted string
}

// order is a sort order of the list.
type order struct {
	name, heading string
	descending    bool
	compare       func(a, b *recent.Series) int
}

// orders are the sort orders of the columns. The first one is the order of the store.
var orders = []order{
	{name: "service", heading: "Service"},
	{name: "type", heading: "Type", compare: func(a, b *recent.Series) int { return strings.Compare(a.Type, b.Type) }},
	{name: "profiles", heading: "Profiles", descending: true, compare: func(a, b *recent.Series) int { return cmp.Compare(b.Profiles, a.Profiles) }},
	{name: "size", heading: "Size", descending: true, compare: func(a, b *recent.Series) int { return cmp.Compare(b.Bytes, a.Bytes) }},
	{name: "last", heading: "Last seen", descending: true, compare: func(a, b *recent.Series) int { return b.Last.Compare(a.Last) }},
}

// orderOf returns the order that the parameter selects, or nil for the order by service and type.
func orderOf(name string) (func(a, b *recent.Series) int, error) {
	if name == "" {
		return nil, nil
	}
	names := make([]string, len(orders))
	for i, o := range orders {
		if names[i] = o.name; o.name == name {
			return o.compare, nil
		}
	}
	return nil, fail(http.StatusBadRequest, "%s must be one of %s, not %.40q", sortParameter, strings.Join(names, ", "), name)
}

// columnsOf returns the headings of the list, with links that sort it.
func columnsOf(values url.Values) []column {
	sorted := cmp.Or(values.Get(sortParameter), orders[0].name)
	columns := make([]column, len(orders))
	for i, o := range orders {
		link := withoutParts(values)
		link.Set(sortParameter, o.name)
		columns[i] = column{Name: o.heading, Link: "?" + link.Encode(), Number: o.name == "profiles" || o.name == "size"}
		switch {
		case o.name != sorted:
		case o.descending:
			columns[i].Sorted = "descending"
		default:
			columns[i].Sorted = "ascending"
		}
	}
	return columns
}

// withoutParts returns parameters without those that select a part of a long list.
func withoutParts(values url.Values) url.Values {
	first := maps.Clone(values)
	first.Del(afterServiceParameter)
	first.Del(afterTypeParameter)
	return first
}

// filter is the content of the form above the list.
type filter struct {
	Search string
	Facets []facet
	// Kept are the parameters without a field in the form.
	Kept      []parameter
	Intervals []option
	// Seconds is the interval at which the page reloads. 0 means never.
	Seconds int
}

// facet is an attribute or label: a menu of its values, and a field for a regular expression.
type facet struct {
	Parameter, Name string
	Options         []option
	More            bool
	// Matching is the name of the parameter of the expression.
	Matching parameter
}

// facetOf returns the fields for an attribute or label, without options.
func facetOf(prefix, key string, more bool, values url.Values) facet {
	name := prefix + key
	return facet{Parameter: name, Name: key, More: more, Matching: parameter{Name: name + expressionMark, Value: values.Get(name + expressionMark)}}
}

type option struct {
	Value, Text string
	Selected    bool
}

type parameter struct{ Name, Value string }

// intervals are the intervals at which the list can reload.
var intervals = []time.Duration{10 * time.Second, 30 * time.Second, time.Minute}

// refreshOf returns the interval at which the page reloads. 0 means never.
func refreshOf(values url.Values) (time.Duration, error) {
	text := values.Get(refreshParameter)
	if text == "" {
		return 0, nil
	}
	every, err := time.ParseDuration(text)
	if err != nil || !slices.Contains(intervals, every) {
		return 0, fail(http.StatusBadRequest, "%s must be one of %v, not %.40q", refreshParameter, intervals, text)
	}
	return every, nil
}

// filterOf returns the form of the list with the values of the parameters.
func (p *pages) filterOf(r *http.Request, values url.Values, refresh time.Duration) filter {
	f := filter{Search: values.Get(searchParameter), Seconds: int(refresh.Seconds())}
	for _, every := range intervals {
		f.Intervals = append(f.Intervals, option{Value: every.String(), Text: "every " + amount(every.Nanoseconds(), "nanoseconds"), Selected: every == refresh})
	}
	now := p.now()
	from, until, _ := bounds(values, "", now) // serveList has checked them
	f.offer(p.store.Facets(p.tenant(r), from, until, attributevalue.ServiceName), withoutParts(values), searchParameter, refreshParameter)
	return f
}

// offerLabels adds the menus of sample labels. It returns the parameters that have a field.
func (f *filter) offerLabels(counts *merge.Counts, values url.Values) (asked []string) {
	for _, key := range counts.Labels {
		offered := facetOf(labelPrefix, key.Key, key.Distinct > len(key.Values), values)
		selected := values.Get(offered.Parameter)
		if selected == "" && offered.Matching.Value == "" && len(key.Values) == 1 && key.Values[0].Samples == counts.Samples {
			continue // there is nothing to select
		}
		found := false
		for _, v := range key.Values {
			text := fmt.Sprintf("%s (%s, %d samples)", labelText(v), amount(v.Value, counts.Unit), v.Samples)
			found = found || v.Text == selected
			offered.Options = append(offered.Options, option{Value: v.Text, Text: text, Selected: v.Text == selected})
		}
		if selected != "" && !found {
			offered.Options = append(offered.Options, option{Value: selected, Text: selected, Selected: true})
		}
		asked = append(asked, offered.Parameter, offered.Matching.Name)
		f.Facets = append(f.Facets, offered)
	}
	return asked
}

// labelText returns the value of a label with its unit.
func labelText(v pprofmerge.LabelValue) string {
	if v.Unit == "" {
		return v.Text
	}
	return v.Text + " " + v.Unit
}

// offer adds the menus of attributes. It keeps the parameters that have neither a field here nor are in asked.
func (f *filter) offer(found []recent.Facet, values url.Values, asked ...string) {
	for _, each := range found {
		offered := facetOf(attributePrefix, each.Name, each.More, values)
		selected := values.Get(offered.Parameter)
		if selected != "" && !slices.Contains(each.Values, selected) {
			each.Values = append(each.Values, selected)
		}
		for _, value := range each.Values {
			offered.Options = append(offered.Options, option{Value: value, Text: value, Selected: value == selected})
		}
		asked = append(asked, offered.Parameter, offered.Matching.Name)
		f.Facets = append(f.Facets, offered)
	}
	f.Kept = append(f.Kept, kept(values, asked)...)
}

// kept returns the parameters that a form keeps: all with a value, except those that have a field. A field has one value, so the form
// also keeps the other values of attributes and labels, which must all match.
func kept(values url.Values, asked []string) (parameters []parameter) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list := values[name]
		if slices.Contains(asked, name) {
			if !isKnown(strings.TrimPrefix(name, basePrefix), []string{attributePrefix, labelPrefix}) {
				continue
			}
			list = list[1:]
		}
		for _, value := range list {
			if value != "" {
				parameters = append(parameters, parameter{Name: name, Value: value})
			}
		}
	}
	return parameters
}

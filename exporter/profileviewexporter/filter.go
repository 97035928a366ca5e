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
	// Number is set for columns of numbers, Sorted for the one by which the list is sorted: ascending or descending.
	Number bool
	Sorted string
}

// order is a way to sort the list.
type order struct {
	name, heading string
	descending    bool
	compare       func(a, b *recent.Series) int
}

// orders are those of the columns. The first one is that of the store.
var orders = []order{
	{name: "service", heading: "Service"},
	{name: "type", heading: "Type", compare: func(a, b *recent.Series) int { return strings.Compare(a.Type, b.Type) }},
	{name: "profiles", heading: "Profiles", descending: true, compare: func(a, b *recent.Series) int { return cmp.Compare(b.Profiles, a.Profiles) }},
	{name: "size", heading: "Size", descending: true, compare: func(a, b *recent.Series) int { return cmp.Compare(b.Bytes, a.Bytes) }},
	{name: "last", heading: "Last seen", descending: true, compare: func(a, b *recent.Series) int { return b.Last.Compare(a.Last) }},
}

// orderOf returns how the parameter says that the list is sorted, nil for by service and type.
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

// withoutParts returns parameters without those that name a part of a long list.
func withoutParts(values url.Values) url.Values {
	first := maps.Clone(values)
	first.Del(afterServiceParameter)
	first.Del(afterTypeParameter)
	return first
}

// filter is the form above the list.
type filter struct {
	Search string
	Facets []facet
	// Kept are parameters that the form does not ask for.
	Kept      []parameter
	Intervals []option
	// Seconds is after how many the page asks again, 0 for never.
	Seconds int
}

// facet is an attribute or a label: a choice of its values, and a regular expression for them.
type facet struct {
	Parameter, Name string
	Options         []option
	More            bool
	// Matching is the parameter of the expression.
	Matching parameter
}

// facetOf returns what the form asks for of an attribute or label, without options.
func facetOf(prefix, key string, more bool, values url.Values) facet {
	name := prefix + key
	return facet{Parameter: name, Name: key, More: more, Matching: parameter{Name: name + expressionMark, Value: values.Get(name + expressionMark)}}
}

type option struct {
	Value, Text string
	Selected    bool
}

type parameter struct{ Name, Value string }

// intervals are those after which the list can ask again by itself.
var intervals = []time.Duration{10 * time.Second, 30 * time.Second, time.Minute}

// refreshOf returns after how long the page asks again, 0 for never.
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

// filterOf returns the form of the list, as the parameters fill it.
func (p *pages) filterOf(r *http.Request, values url.Values, refresh time.Duration) filter {
	f := filter{Search: values.Get(searchParameter), Seconds: int(refresh.Seconds())}
	for _, every := range intervals {
		f.Intervals = append(f.Intervals, option{Value: every.String(), Text: "every " + amount(every.Nanoseconds(), "nanoseconds"), Selected: every == refresh})
	}
	now := p.now()
	from, _ := bound(values, fromParameter, now) // It was read before.
	until, _ := bound(values, untilParameter, now)
	f.offer(p.store.Facets(p.tenant(r), from, until, attributevalue.ServiceName), withoutParts(values), searchParameter, refreshParameter)
	return f
}

// offerLabels adds the choice of labels of samples. It returns the parameters that the form asks for.
func (f *filter) offerLabels(counts *merge.Counts, values url.Values) (asked []string) {
	for _, key := range counts.Labels {
		offered := facetOf(labelPrefix, key.Key, key.Distinct > len(key.Values), values)
		selected := values.Get(offered.Parameter)
		if selected == "" && offered.Matching.Value == "" && len(key.Values) == 1 && key.Values[0].Samples == counts.Samples {
			continue // no choice
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

// labelText is the value of a label with its unit.
func labelText(v pprofmerge.LabelValue) string {
	if v.Unit == "" {
		return v.Text
	}
	return v.Text + " " + v.Unit
}

// offer adds the choice of attributes, and keeps the parameters that the form does not ask for: neither there nor by asked.
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

// kept are the parameters that a form keeps: all that have a value, but for those that it asks for.
func kept(values url.Values, asked []string) (parameters []parameter) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(asked, name) {
			continue
		}
		for _, value := range values[name] {
			if value != "" {
				parameters = append(parameters, parameter{Name: name, Value: value})
			}
		}
	}
	return parameters
}

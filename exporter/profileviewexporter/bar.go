// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

//go:embed bar.html
var barText string

var barTemplate = template.Must(template.New("bar").Parse(barText))

// bar is the content of the bar above a page: the service, type and time of the profile, and links to other pages.
type bar struct {
	*about
	Legend *legend
	// Coloured is true if colours show a difference.
	Coloured bool
	// Plain links to a page that works without JavaScript. It is empty on such pages.
	Plain string
	// Table links from the flame graph to the page with the same data as a table.
	Table string
	// Layouts are links to the flame graph in each layout. Other pages have none.
	Layouts []choice
	// Filter is the form that selects resources and sample labels.
	Filter filter
	// Total is the sum of the samples, and its sample type.
	Total string
	// Comparison are the fields of the form that compares with another profile. ComparisonKept are the parameters of the page
	// itself.
	Comparison     []field
	ComparisonKept []parameter
	// ComparisonPage is the page that compares. It is empty if the page itself does.
	ComparisonPage string
}

// field is a field of a form.
type field struct{ Parameter, Name, Value, Placeholder string }

// offerFilter adds the form that selects resources with profiles of the time, and sample labels.
func (b *bar) offerFilter(r *http.Request, counts *merge.Counts) {
	b.Total = amount(counts.Total, counts.Unit) + " " + counts.Type
	asked := b.Filter.offerLabels(counts, r.URL.Query())
	b.Filter.offer(b.Resources, r.URL.Query(), asked...)
}

// resourcesOf returns the attributes of the profiles of the requested time, also of those without the selected attributes.
func (p *pages) resourcesOf(r *http.Request) []recent.Facet {
	q, err := p.query(r, r.PathValue("type"), "")
	if err != nil {
		return nil // the request has no answer
	}
	q.Attributes = nil
	entries, _, err := p.store.Search(r.Context(), q)
	if err != nil {
		return nil
	}
	return recent.FacetsOf(entries, attributevalue.ServiceName)
}

// offerComparison adds the form that compares with another service, type, time, resource or label. On a page without a comparison,
// the fields have the time and the selectors of the page, so that both sides differ only in what the user changes.
func (b *bar) offerComparison(values url.Values) {
	base := values
	if !compares(values) {
		base = withSameBase(values)
	}
	fields := []field{
		{Parameter: basePrefix + "service", Name: "service", Placeholder: b.Service},
		{Parameter: basePrefix + "type", Name: "type", Placeholder: b.Type},
		{Parameter: basePrefix + fromParameter, Name: "from", Placeholder: "-30m"},
		{Parameter: basePrefix + untilParameter, Name: "until", Placeholder: "-15m"},
	}
	if base.Get(basePrefix+windowParameter) != "" {
		fields = append(fields, field{Parameter: basePrefix + windowParameter, Name: "window"})
	}
	for i := range fields {
		fields[i].Value = base.Get(fields[i].Parameter)
	}
	for _, prefix := range []string{basePrefix + attributePrefix, basePrefix + labelPrefix} {
		wanted, _ := selectorsOf(base, prefix) // the request has checked them
		for i := range wanted {
			s := &wanted[i]
			fields = append(fields, field{Parameter: parameterOf(prefix, s, s.Negated()), Name: s.Key + " " + s.Operator(), Value: s.Text})
		}
	}
	b.Comparison = fields
	if b.ComparisonPage != "" {
		values = onlyKnown(values)
	}
	b.ComparisonKept = kept(withoutBase(values), nil)
}

// withSameBase returns parameters whose base is the profile of the page itself: with the same time, resources and labels.
func withSameBase(values url.Values) url.Values {
	same := withoutBase(values)
	for name, list := range values {
		if isKnown(basePrefix+name, baseParameters) {
			same[basePrefix+name] = list
		}
	}
	if seconds := values.Get(secondsParameter); seconds != "" {
		same.Set(basePrefix+windowParameter, seconds+"s")
	}
	return same
}

func (b *bar) html() ([]byte, error) {
	var body bytes.Buffer
	if err := barTemplate.Execute(&body, b); err != nil {
		return nil, fmt.Errorf("cannot make the bar of a page: %w", err)
	}
	return body.Bytes(), nil
}

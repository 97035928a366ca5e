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
	// Comparison are the fields of the form that compares with another service, type or time. ComparisonKept are the other
	// parameters of the page.
	Comparison     []field
	ComparisonKept []parameter
}

// field is a field of a form.
type field struct{ Parameter, Name, Value, Placeholder string }

// offerFilter adds the form that selects resources with profiles of the time, and sample labels.
func (p *pages) offerFilter(b *bar, r *http.Request, counts *merge.Counts) {
	b.Total = amount(counts.Total, counts.Unit) + " " + counts.Type
	asked := b.Filter.offerLabels(counts, r.URL.Query())
	q, err := p.query(r, b.Type, "")
	if err != nil {
		return
	}
	q.Attributes = nil
	entries, _ := p.store.Select(q)
	b.Filter.offer(recent.FacetsOf(entries, attributevalue.ServiceName), r.URL.Query(), asked...)
}

// offerComparison adds the form that compares with another service, type or time.
func (b *bar) offerComparison(values url.Values) {
	var asked []string
	for _, f := range []field{
		{Parameter: basePrefix + "service", Name: "service", Placeholder: b.Service},
		{Parameter: basePrefix + "type", Name: "type", Placeholder: b.Type},
		{Parameter: basePrefix + fromParameter, Name: "from", Placeholder: "-30m"},
		{Parameter: basePrefix + untilParameter, Name: "until", Placeholder: "-15m"},
	} {
		f.Value = values.Get(f.Parameter)
		b.Comparison = append(b.Comparison, f)
		asked = append(asked, f.Parameter)
	}
	b.ComparisonKept = kept(values, asked)
}

func (b *bar) html() ([]byte, error) {
	var body bytes.Buffer
	if err := barTemplate.Execute(&body, b); err != nil {
		return nil, fmt.Errorf("cannot make the bar of a page: %w", err)
	}
	return body.Bytes(), nil
}

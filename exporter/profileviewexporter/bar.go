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

// bar is what stands above the pages of google/pprof: where from and of when a profile is, and the way to others.
type bar struct {
	*about
	Legend *legend
	// Coloured says that the page shows the difference in colours.
	Coloured bool
	// Plain leads to a page that needs no JavaScript, from those that do.
	Plain string
	// Table leads to the page that has the same as a table, from the flame graph.
	Table string
	// Layouts are links to the same flame graph in each layout, of those only.
	Layouts []choice
	// Filter is a form that chooses resources and labels of samples.
	Filter filter
	// Total is the sum of the samples, with its type.
	Total string
	// Comparison are the fields of a form that compares with another service, type or time, ComparisonKept the parameters
	// that it keeps.
	Comparison     []field
	ComparisonKept []parameter
}

// field is one of a form.
type field struct{ Parameter, Name, Value, Placeholder string }

// offerFilter adds a form that chooses among the resources that have profiles of the time, and among the labels of samples.
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

// offerComparison adds a form that compares with another profile: of another service, type or time.
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

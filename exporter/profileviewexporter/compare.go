// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/export"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/viewer"
)

const (
	// maxImageBoxes limits the boxes of an image on a page.
	maxImageBoxes = 400
	// maxImageBytes limits the size of such an image.
	maxImageBytes = 1 << 20
)

// comparePage is the content of the page compare.
type comparePage struct {
	Fields []comparedField
	Kept   []parameter
	// Images are the flame graphs of both sides and of their difference. Graph links to the difference of google/pprof.
	Images []pageImage
	Graph  string
	Table  *functionsPage
}

// comparedField is a row of the form, with a field for each side. A side without a parameter has a fixed value.
type comparedField struct {
	Name      string
	Now, Base side
}

// side is the field of one side: a text, or a menu of options.
type side struct {
	Parameter, Value, Placeholder string
	Options                       []option
	More                          bool
}

type pageImage struct {
	Name  string
	Image template.HTML
}

// drawCompare draws the form that selects both sides, and their difference after they are selected.
func (p *pages) drawCompare(d *drawing) ([]byte, error) {
	query := d.r.URL.Query()
	page, above := &comparePage{}, bar{}
	if len(d.base) == 0 {
		d.counts = countsFor(query)
		if err := p.tally(d); err != nil {
			return nil, err
		}
	} else {
		shown, err := p.merged(d, viewer.CostsOf("flamegraph"))
		if err != nil {
			return nil, err
		}
		above.Legend, above.Coloured = legendOf(shown, query.Get(sampleIndexParameter)), true
		page.Table = &functionsPage{most: maxFunctions, link: functionLink}
		if err := page.Table.fill(d, shown); err != nil {
			return nil, err
		}
		if page.Images, err = images(d, shown); err != nil {
			return nil, err
		}
		page.Graph = "flamegraph?" + onlyKnown(query).Encode()
	}
	asking := bar{about: d.about}
	asking.offerFilter(d.r, &d.counts)
	page.ask(d, &asking.Filter, query)
	return p.drawOwn(d, &above, "compare", page)
}

// ask fills the form.
func (c *comparePage) ask(d *drawing, offered *filter, query url.Values) {
	text := func(name, placeholder string) side {
		return side{Parameter: name, Value: query.Get(name), Placeholder: placeholder}
	}
	from := text(basePrefix+fromParameter, "-30m")
	if !compares(query) {
		from.Value = cmp.Or(query.Get(fromParameter), allTimes) // so that the form always has two sides
	}
	c.Fields = []comparedField{
		{"service", side{Value: d.about.Service}, text(basePrefix+"service", d.about.Service)},
		{"type", side{Value: d.about.Type}, text(basePrefix+"type", d.about.Type)},
		{"from", text(fromParameter, "-15m"), from},
		{"until", text(untilParameter, "now"), text(basePrefix+untilParameter, "now")},
	}
	for _, f := range offered.Facets {
		base := side{Parameter: basePrefix + f.Parameter, Value: query.Get(basePrefix + f.Parameter), More: f.More}
		known := false
		for _, o := range f.Options {
			o.Selected = o.Value == base.Value
			known = known || o.Selected
			base.Options = append(base.Options, o)
		}
		if base.Value != "" && !known {
			base.Options = append(base.Options, option{Value: base.Value, Text: base.Value, Selected: true})
		}
		c.Fields = append(c.Fields, comparedField{f.Name, side{Parameter: f.Parameter, Options: f.Options, More: f.More}, base})
	}
	var asked []string
	for _, f := range c.Fields {
		asked = append(asked, f.Now.Parameter, f.Base.Parameter)
	}
	c.Kept = kept(query, asked)
}

// images draws both sides and their difference.
func images(d *drawing, p *profile.Profile) (drawn []pageImage, err error) {
	index, err := p.SampleIndexByName(d.r.URL.Query().Get(sampleIndexParameter))
	if err != nil {
		return nil, fail(http.StatusBadRequest, "%v", err)
	}
	for _, shown := range []struct {
		name string
		side export.Side
	}{{"Before", export.Before}, {"Now", export.Now}, {"Difference", export.Difference}} {
		image, err := export.Flamegraph(p, &export.SVG{
			Index: index, Title: shown.name + ": " + d.about.Service + " " + d.about.Type, Side: shown.side, Boxes: maxImageBoxes, Inside: true,
			Amount: func(v int64) string { return amount(v, d.counts.Unit) },
		}, export.Limits{Bytes: maxImageBytes})
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, pageImage{shown.name, template.HTML(image)}) //nolint:gosec // its texts are escaped
	}
	return drawn, nil
}

// onlyKnown returns the parameters that all pages accept.
func onlyKnown(values url.Values) url.Values {
	return only(values, func(name string) bool { return isKnown(name, ownParameters) && strings.Join(values[name], "") != "" })
}

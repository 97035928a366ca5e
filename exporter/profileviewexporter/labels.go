// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/viewer"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
)

// groupsPage is the page with the totals of labels. It has one side only: its links and its form compare on comparisonPage.
const (
	groupsPage     = "labels"
	comparisonPage = "flamegraph"
)

// comparisonLink returns a link to a comparison from a page.
func (a *about) comparisonLink(values url.Values) string {
	if a.Page == groupsPage {
		return comparisonPage + "?" + onlyKnown(values).Encode()
	}
	return "?" + values.Encode()
}

// byParameter selects the label or attribute by which the page groups: label.<key> or resource.<key>.
const byParameter = "by"

// The limits of labels and values on the page of all labels, and of values on the page of one.
var (
	overviewLimits = pprofmerge.LabelLimits{Keys: 20, Values: 10, Text: viewer.NameBytes}
	groupLimits    = pprofmerge.LabelLimits{Keys: 1, Values: 500, Text: viewer.NameBytes}
)

// labelsPage is the content of the page labels.
type labelsPage struct {
	// By is the label or attribute by which the page groups. All links to the page of all labels.
	By, All   string
	Total     string
	Samples   int64
	Groups    []labelGroup
	Resources []choice
}

// labelGroup has the values of a label or attribute. Link links to its own page. More describes the values that are left out.
type labelGroup struct {
	Name, ID, Link, More string
	Rows                 []labelRow
}

type labelRow struct {
	Value, Link, Total, Share string
	Samples                   int64
}

// drawLabels draws the values of labels, or of one resource attribute, with their totals.
func (p *pages) drawLabels(d *drawing) ([]byte, error) {
	values := d.r.URL.Query()
	by := values.Get(byParameter)
	d.counts.SampleType, d.counts.Limits = values.Get(sampleIndexParameter), overviewLimits
	if key, found := strings.CutPrefix(by, labelPrefix); found && key != "" {
		d.counts.Limits = groupLimits
		d.counts.Limits.Key = key
	} else if key, found := strings.CutPrefix(by, attributePrefix); found && key != "" {
		d.counts.Attribute = key
	} else if by != "" {
		return nil, fail(http.StatusBadRequest, "%s must be %s<key> or %s<key>, not %.40q", byParameter, labelPrefix, attributePrefix, by)
	}
	if err := p.tally(d); err != nil {
		return nil, err
	}
	links := min(len(d.counts.Resources), groupLimits.Values)
	for i := range d.counts.Labels {
		links += 1 + len(d.counts.Labels[i].Values)
	}
	if err := reserveLinks(d.work, d.r, links); err != nil {
		return nil, err
	}
	page := &labelsPage{By: by, Total: amount(d.counts.Total, d.counts.Unit) + " " + d.counts.Type, Samples: d.counts.Samples}
	page.All = "?" + without(values, byParameter).Encode()
	if d.counts.Attribute != "" {
		page.Groups = append(page.Groups, resourceGroup(&d.counts, values))
	} else {
		for i := range d.counts.Labels {
			page.Groups = append(page.Groups, groupOf(&d.counts, &d.counts.Labels[i], values))
		}
	}
	if by == "" {
		for _, f := range recent.FacetsOf(d.chosen, attributevalue.ServiceName) {
			page.Resources = append(page.Resources, choice{Name: f.Name, Link: "?" + with(values, byParameter, attributePrefix+f.Name).Encode()})
		}
	}
	d.counts.Labels = nil // The page has them already.
	return p.drawOwn(d, &bar{ComparisonPage: comparisonPage}, groupsPage, page)
}

// groupOf returns the values of a label, with links to their samples.
func groupOf(counts *merge.Counts, key *pprofmerge.LabelKey, values url.Values) labelGroup {
	g := labelGroup{Name: key.Key, ID: labelPrefix + key.Key}
	if values.Get(byParameter) == "" {
		g.Link = "?" + with(values, byParameter, labelPrefix+key.Key).Encode()
	}
	for _, v := range key.Values {
		g.Rows = append(g.Rows, rowOf(counts, labelText(v), v, values, labelPrefix+key.Key))
	}
	if n := key.Distinct - len(key.Values); n > 0 {
		g.More = fmt.Sprintf("%d other values are left out: their totals are smaller, or they are too long.", n)
	}
	return g
}

// resourceGroup returns the values of a resource attribute, with links to their profiles.
func resourceGroup(counts *merge.Counts, values url.Values) labelGroup {
	g := labelGroup{Name: counts.Attribute, ID: attributePrefix + counts.Attribute}
	for _, v := range counts.Resources[:min(len(counts.Resources), groupLimits.Values)] {
		row := rowOf(counts, v.Text, v, values, attributePrefix+counts.Attribute)
		if v.Text == "" {
			row.Value, row.Link = "(none)", ""
		}
		g.Rows = append(g.Rows, row)
	}
	others := counts.Others
	for _, v := range counts.Resources[len(g.Rows):] {
		others.Samples += v.Samples
		others.Value += v.Value
	}
	if others.Samples > 0 {
		g.Rows = append(g.Rows, labelRow{Value: "(others)", Total: amount(others.Value, counts.Unit), Share: share(others.Value, counts.Total), Samples: others.Samples})
	}
	return g
}

func rowOf(counts *merge.Counts, text string, v pprofmerge.LabelValue, values url.Values, parameter string) labelRow {
	return labelRow{
		Value: text, Total: amount(v.Value, counts.Unit), Share: share(v.Value, counts.Total), Samples: v.Samples,
		Link: "flamegraph?" + with(without(withoutBase(values), byParameter), parameter, v.Text).Encode(),
	}
}

// share returns a part of a total in percent, or an empty text if the total is 0.
func share(part, total int64) string {
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(total))
}

// with returns parameters with another value of one.
func with(values url.Values, name, value string) url.Values {
	changed := maps.Clone(values)
	changed.Set(name, value)
	return changed
}

// without returns parameters without one.
func without(values url.Values, name string) url.Values {
	changed := maps.Clone(values)
	changed.Del(name)
	return changed
}

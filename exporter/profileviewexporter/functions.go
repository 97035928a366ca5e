// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/functions"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/viewer"
)

const (
	// functionParameter names the function whose callers and callees are shown.
	functionParameter = "function"
	// maxFunctions limits the functions on a page.
	maxFunctions = 500
)

// functionsPage is the content of the page functions.
type functionsPage struct {
	// Compared is true for a difference.
	Compared bool
	Search   string
	Kept     []parameter
	Columns  []column
	Rows     []functionRow
	// Found is the number of functions that match, Shown the number on the page.
	Found, Shown int
	// Function is the function whose callers and callees are shown. All links back to the table.
	Function         *functionRow
	All, Flamegraph  string
	Callers, Callees []functionRow
	// most limits the functions on the page. link returns the link of a function.
	most int
	link func(name string, query url.Values) string
}

// neighboursTable is a table of callers or callees.
type neighboursTable struct {
	Compared bool
	Rows     []functionRow
}

// CallersTable returns the table of callers.
func (f *functionsPage) CallersTable() neighboursTable { return neighboursTable{f.Compared, f.Callers} }

// CalleesTable returns the table of callees.
func (f *functionsPage) CalleesTable() neighboursTable { return neighboursTable{f.Compared, f.Callees} }

// functionRow is a function with its values as texts.
type functionRow struct {
	Name, Link string
	Flat, Cum  valueTexts
}

// valueTexts are the texts of one sum: the value and its share, or both sides and their difference.
type valueTexts struct {
	Now, Share, Before, Change string
	// Compared is true for a difference.
	Compared, More, Less bool
}

// functionOrder is a sort order of functions.
type functionOrder struct {
	name, heading string
	// compared is set for the orders of a difference.
	compared bool
	compare  func(a, b *functions.Row) int
}

// absolute returns a value without its sign.
func absolute(v int64) int64 { return max(v, -v) }

var functionOrders = []functionOrder{
	{"flat", "Flat", false, func(a, b *functions.Row) int { return cmp.Compare(absolute(b.Flat.Now), absolute(a.Flat.Now)) }},
	{"flat_change", "Change of flat", true, func(a, b *functions.Row) int {
		return cmp.Compare(absolute(b.Flat.Change()), absolute(a.Flat.Change()))
	}},
	{"cum", "Cum", false, func(a, b *functions.Row) int { return cmp.Compare(absolute(b.Cum.Now), absolute(a.Cum.Now)) }},
	{"cum_change", "Change of cum", true, func(a, b *functions.Row) int {
		return cmp.Compare(absolute(b.Cum.Change()), absolute(a.Cum.Change()))
	}},
	{"name", "Function", false, func(a, b *functions.Row) int { return strings.Compare(a.Name, b.Name) }},
}

// functionOrderOf returns the order that a parameter selects. The default is the change for a difference, else the flat value.
func functionOrderOf(name string, compared bool) (*functionOrder, error) {
	if name == "" {
		name = "flat"
		if compared {
			name = "flat_change"
		}
	}
	names := make([]string, len(functionOrders))
	for i := range functionOrders {
		if names[i] = functionOrders[i].name; names[i] == name {
			return &functionOrders[i], nil
		}
	}
	return nil, fail(http.StatusBadRequest, "%s must be one of %s, not %.40q", sortParameter, strings.Join(names, ", "), name)
}

// drawFunctions draws the table of functions, or the callers and callees of one function.
func (p *pages) drawFunctions(d *drawing) ([]byte, error) {
	shown, err := p.merged(d, viewer.CostsOf("top"))
	if err != nil {
		return nil, err
	}
	above, page := bar{}, &functionsPage{most: maxFunctions, link: functionLink}
	if len(d.base) > 0 {
		above.Legend = legendOf(shown, d.r.URL.Query().Get(sampleIndexParameter))
	}
	if name := d.r.URL.Query().Get(functionParameter); name != "" {
		err = page.fillNeighbours(d, shown, name)
	} else {
		err = page.fill(d, shown)
	}
	if err != nil {
		return nil, err
	}
	return p.drawOwn(d, &above, "functions", page)
}

// fill fills the table of functions.
func (f *functionsPage) fill(d *drawing, p *profile.Profile) error {
	query := d.r.URL.Query()
	f.Compared = len(d.base) > 0
	order, err := functionOrderOf(query.Get(sortParameter), f.Compared)
	if err != nil {
		return err
	}
	index, err := p.SampleIndexByName(query.Get(sampleIndexParameter))
	if err != nil {
		return fail(http.StatusBadRequest, "%v", err)
	}
	f.Search = query.Get(searchParameter)
	rows, total := functions.Table(p, index)
	if part := strings.ToLower(f.Search); part != "" {
		rows = slices.DeleteFunc(rows, func(row functions.Row) bool { return !strings.Contains(strings.ToLower(row.Name), part) })
	}
	slices.SortStableFunc(rows, func(a, b functions.Row) int { return order.compare(&a, &b) })
	f.Found, f.Shown = len(rows), min(len(rows), f.most)
	if err := reserveLinks(d.work, d.r, f.Shown); err != nil {
		return err
	}
	for i := range rows[:f.Shown] {
		f.Rows = append(f.Rows, f.row(&rows[i], total, d.counts.Unit, query))
	}
	for i := range functionOrders {
		o := &functionOrders[i]
		if o.compared && !f.Compared {
			continue
		}
		c := column{Name: o.heading, Number: o.name != "name", Link: "?" + with(query, sortParameter, o.name).Encode()}
		if o == order {
			if c.Sorted = "descending"; o.name == "name" {
				c.Sorted = "ascending"
			}
		}
		f.Columns = append(f.Columns, c)
	}
	f.Kept = kept(query, []string{searchParameter})
	return nil
}

// fillNeighbours fills the tables of callers and callees of a function.
func (f *functionsPage) fillNeighbours(d *drawing, p *profile.Profile, name string) error {
	query := d.r.URL.Query()
	f.Compared = len(d.base) > 0
	index, err := p.SampleIndexByName(query.Get(sampleIndexParameter))
	if err != nil {
		return fail(http.StatusBadRequest, "%v", err)
	}
	own, callers, callees, found := functions.Neighbours(p, index, name)
	if !found {
		return fail(http.StatusNotFound, "no sample has the function %.200q", name)
	}
	if err := reserveLinks(d.work, d.r, min(len(callers), maxFunctions)+min(len(callees), maxFunctions)); err != nil {
		return err
	}
	row := f.row(&own, own.Cum, d.counts.Unit, query)
	f.Function = &row
	f.All = "?" + without(query, functionParameter).Encode()
	f.Flamegraph = "flamegraph?" + with(onlyKnown(query), "f", "^"+regexp.QuoteMeta(name)+"$").Encode()
	f.Callers, f.Callees = f.neighbours(callers, &own, d.counts.Unit, query), f.neighbours(callees, &own, d.counts.Unit, query)
	return nil
}

// neighbours returns the rows of callers or callees, largest first.
func (f *functionsPage) neighbours(all []functions.Row, own *functions.Row, unit string, query url.Values) (rows []functionRow) {
	slices.SortStableFunc(all, func(a, b functions.Row) int {
		return cmp.Compare(absolute(b.Cum.Now)+absolute(b.Cum.Before), absolute(a.Cum.Now)+absolute(a.Cum.Before))
	})
	for i := range all[:min(len(all), maxFunctions)] {
		row := f.row(&all[i], own.Cum, unit, query)
		if name := all[i].Name; name == functions.NoCaller || name == functions.NoCallee {
			row.Link = ""
		}
		rows = append(rows, row)
	}
	if n := len(all) - maxFunctions; n > 0 {
		rows = append(rows, functionRow{Name: fmt.Sprintf("and %d others", n)})
	}
	return rows
}

func (f *functionsPage) row(row *functions.Row, total functions.Sum, unit string, query url.Values) functionRow {
	return functionRow{
		Name: row.Name, Link: f.link(row.Name, query),
		Flat: f.values(row.Flat, total, unit), Cum: f.values(row.Cum, total, unit),
	}
}

// functionLink returns the link to the callers and callees of a function.
func functionLink(name string, query url.Values) string {
	return "functions?" + with(without(without(query, sortParameter), searchParameter), functionParameter, name).Encode()
}

func (f *functionsPage) values(s, total functions.Sum, unit string) valueTexts {
	return valueTexts{
		Now: amount(s.Now, unit), Share: share(s.Now, total.Now), Before: amount(s.Before, unit), Change: signed(s.Change(), unit),
		Compared: f.Compared, More: s.Change() > 0, Less: s.Change() < 0,
	}
}

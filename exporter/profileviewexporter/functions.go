// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/tree"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// functionTable is the answer with the values of functions. Sums are exact. The base is the other side of a comparison.
type functionTable struct {
	Unit      string `json:"unit"`
	Total     int64  `json:"total"`
	BaseTotal *int64 `json:"base_total,omitempty"`
	Profiles  int    `json:"profiles"`
	// Functions has all functions. If the request names one, Callers and Callees are there instead.
	Functions []functionRow `json:"functions,omitzero"`
	Callers   []functionRow `json:"callers,omitzero"`
	Callees   []functionRow `json:"callees,omitzero"`
}

type functionRow struct {
	Name      string `json:"name"`
	File      string `json:"file,omitempty"`
	Line      int64  `json:"line,omitempty"`
	Self      int64  `json:"self"`
	Total     int64  `json:"total"`
	BaseSelf  *int64 `json:"base_self,omitempty"`
	BaseTotal *int64 `json:"base_total,omitempty"`
}

// The memory of a row in the answer, beside a multiple of its texts: as JSON, also compressed.
const (
	rowBytes = 512
	textCost = 8
)

// serveFunctions answers with the values of all functions, or of one with its callers and callees.
func (p *pages) serveFunctions(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	if err := checkParameters(values, functionsParameters); err != nil {
		return err
	}
	table, err := working(p, r, func(work *meter.Meter) (*functionTable, error) {
		sides, err := p.sides(r, values, work)
		if err != nil {
			return nil, err
		}
		lists := make([][]*store.Profile, len(sides))
		for i, s := range sides {
			lists[i] = s.Profiles
		}
		if p.notModified(w, r, lists...) {
			return nil, errNotModified
		}
		return functionTableOf(sides, values.Get(functionParameter), work)
	})
	if err != nil {
		return err
	}
	return writeJSON(w, r, table)
}

// sides returns what a request selects: one selection, or two if there are parameters of a base.
func (p *pages) sides(r *http.Request, values url.Values, work *meter.Meter) ([]*query.Selection, error) {
	compared := maps.Clone(values)
	isComparison := false
	for name := range values {
		if own, found := strings.CutPrefix(name, basePrefix); found {
			isComparison = true
			compared.Set(own, values.Get(name))
		}
	}
	s, err := p.selectBy(r, values, work)
	if err != nil || !isComparison {
		return []*query.Selection{s}, err
	}
	base, err := p.selectBy(r, compared, work)
	return []*query.Selection{s, base}, err
}

// functionTableOf returns the values of all functions, or of one.
func functionTableOf(sides []*query.Selection, function string, work *meter.Meter) (*functionTable, error) {
	t, err := treeOf(work, sides...)
	if err != nil {
		return nil, err
	}
	all, err := t.Functions()
	if err != nil {
		return nil, err
	}
	isComparison := len(sides) > 1
	totals := t.Totals()
	table := &functionTable{Unit: sides[0].Unit(), Total: totals[0], Profiles: t.Profiles[0]}
	if isComparison {
		table.BaseTotal = &totals[1]
	}
	if function != "" {
		callers, callees := t.Calls(function)
		table.Callers, table.Callees = rowsOf(callers, isComparison), rowsOf(callees, isComparison)
		return table, nil
	}
	bytes := int64(0)
	for i := range all {
		bytes += rowBytes + textCost*int64(len(all[i].Name)+len(all[i].File))
	}
	if err := t.Need(bytes); err != nil {
		return nil, err
	}
	table.Functions = rowsOf(all, isComparison)
	return table, nil
}

func rowsOf(all []tree.Function, isComparison bool) []functionRow {
	rows := make([]functionRow, len(all))
	for i := range all {
		f := &all[i]
		rows[i] = functionRow{Name: f.Name, File: f.File, Line: f.Line, Self: f.Self[0], Total: f.Total[0]}
		if isComparison {
			rows[i].BaseSelf, rows[i].BaseTotal = &f.Self[1], &f.Total[1]
		}
	}
	return rows
}

// treeFormats are the formats that are made of a tree of functions.
var treeFormats = map[string]struct {
	name, contentType string
	write             func(t *tree.Tree, title, unit string) ([]byte, error)
}{
	"collapsed":  {"profile.collapsed.txt", "text/plain; charset=utf-8", func(t *tree.Tree, _, _ string) ([]byte, error) { return t.Collapsed() }},
	"speedscope": {"profile.speedscope.json", "application/json", (*tree.Tree).Speedscope},
	"svg": {"profile.svg", "image/svg+xml", func(t *tree.Tree, title, unit string) ([]byte, error) {
		return t.SVG(title, func(value, whole int64) string { return amount(value, unit) + ", " + share(value, whole) })
	}},
}

// serveDownload answers with a file of what the parameters select.
func (p *pages) serveDownload(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	if err := checkParameters(values, selectionParameters); err != nil {
		return err
	}
	name := r.PathValue("format")
	format, isTree := treeFormats[name]
	if !isTree && name != "pprof" && name != "pgo" {
		return fail(http.StatusNotFound, "%.40q is not a format: these are pprof, collapsed, speedscope, svg and pgo", name)
	}
	body, err := working(p, r, func(work *meter.Meter) ([]byte, error) {
		s, err := p.selectBy(r, values, work)
		if err != nil {
			return nil, err
		}
		if len(s.Profiles) == 0 {
			return nil, fail(http.StatusNotFound, "there is no profile of this type and time with these labels")
		}
		if p.notModified(w, r, s.Profiles) {
			return nil, errNotModified
		}
		switch name {
		case "pprof":
			return merged(s, work, 0, gzipOf)
		case "pgo":
			return merged(s, work, defaultDepth, pgoOf)
		}
		t, err := treeOf(work, s)
		if err != nil {
			return nil, err
		}
		return format.write(t, strings.TrimSpace(values.Get(typeParameter)+" "+values.Get(queryParameter)), s.Unit())
	})
	switch {
	case err != nil:
		return err
	case name == "pprof":
		return writeProfile(w, "profile.pb.gz", body)
	case name == "pgo":
		return writeProfile(w, pgoName, body)
	}
	w.Header().Set("Content-Disposition", `attachment; filename="`+format.name+`"`)
	return write(w, r, format.contentType, body)
}

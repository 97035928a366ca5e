// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"maps"
	"net/url"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
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

// functions answers with the values of all functions, or of one with its callers and callees.
func (v *visit) functions() ([]byte, error) {
	sides, err := v.sides()
	if err != nil {
		return nil, err
	}
	if err := v.unlessKnown(sides...); err != nil {
		return nil, err
	}
	table, err := v.functionTable(v.values.Get(functionParameter), sides...)
	if err != nil {
		return nil, err
	}
	return v.json(table)
}

// sides returns what a request selects: one selection, or two if there are parameters of a base.
func (v *visit) sides() ([]*selection, error) {
	compared := maps.Clone(v.values)
	isComparison := false
	for name := range v.values {
		if own, found := strings.CutPrefix(name, basePrefix); found {
			isComparison = true
			compared.Set(own, v.values.Get(name))
		}
	}
	s, err := v.selectBy(v.values)
	if err != nil || !isComparison {
		return []*selection{s}, err
	}
	base, err := v.selectBy(compared)
	return []*selection{s, base}, err
}

// selectBy returns what the parameters of a page select: a profile type, selectors, a time, a trace and a span.
func (v *visit) selectBy(values url.Values) (*selection, error) {
	from, until, err := bounds(values)
	if err != nil {
		return nil, err
	}
	if until.At.IsZero() {
		until.At = store.Forever
	}
	return v.selectSamples(&criteria{
		typeID: values.Get(typeParameter), labels: values.Get(queryParameter), start: from.At, end: until.At,
		traceIDs: nonEmpty(values, traceParameter), spanIDs: nonEmpty(values, spanParameter),
	})
}

// functionTable returns the values of all functions, or of one.
func (c *call) functionTable(function string, sides ...*selection) (*functionTable, error) {
	t, err := c.tree(sides...)
	if err != nil {
		return nil, err
	}
	all, err := t.functions()
	if err != nil {
		return nil, err
	}
	isComparison := len(sides) > 1
	totals := t.totals()
	table := &functionTable{Unit: sides[0].unit(), Total: totals[0], Profiles: t.profiles[0]}
	if isComparison {
		table.BaseTotal = &totals[1]
	}
	if function != "" {
		callers, callees := t.calls(function)
		table.Callers, table.Callees = rowsOf(callers, isComparison), rowsOf(callees, isComparison)
		return table, nil
	}
	const rowBytes, textCost = 512, 8 // of a row in the answer, and of its texts as a multiple: as JSON, also compressed
	bytes := int64(0)
	for i := range all {
		bytes += rowBytes + textCost*int64(len(all[i].Name)+len(all[i].File))
	}
	if err := t.work.Need(bytes); err != nil {
		return nil, err
	}
	table.Functions = rowsOf(all, isComparison)
	return table, nil
}

func rowsOf(all []functionValues, isComparison bool) []functionRow {
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

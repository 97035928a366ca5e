// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/tree"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// seriesPerAnswer limits the series in one answer.
const seriesPerAnswer = 2000

// These parameters name the series before the first series of an answer.
const (
	afterServiceParameter = "after_service"
	afterTypeParameter    = "after_type"
)

// The memory to list a series: a fixed part, and a multiple of the length of its names and of the query, which are escaped in links.
const (
	seriesBytes = 4 << 10
	namesCost   = 64
	queryCost   = 48
)

// list returns the series that a filter and the parameters select. next is the query of the next part, if there is one.
func (p *pages) list(r *http.Request, values url.Values, filter *query.Filter) (found []store.Series, next string, err error) {
	q := store.Query{Tenant: p.tenant(r.Header), Matches: func(one *store.Profile) bool { return r.Context().Err() == nil && filter.Profile(one) }}
	if q.From, q.Until, err = bounds(values, "", p.now()); err != nil {
		return nil, "", err
	}
	found, err = working(p, r, func(work *meter.Meter) ([]store.Series, error) {
		if err := work.Need(filter.Bytes()); err != nil {
			return nil, err
		}
		found, more := p.store.List(&q, [2]string{values.Get(afterServiceParameter), values.Get(afterTypeParameter)}, seriesPerAnswer)
		if more {
			last := found[len(found)-1]
			following := r.URL.Query()
			following.Set(afterServiceParameter, last.Service)
			following.Set(afterTypeParameter, last.Type)
			next = "?" + following.Encode()
		}
		bytes := filter.Bytes()
		for _, s := range found {
			bytes += seriesBytes + namesCost*int64(len(s.Service)+len(s.Type)) + queryCost*int64(len(r.URL.RawQuery))
		}
		return found, errors.Join(filter.Err(), work.Need(bytes))
	})
	return found, next, err
}

// serveSeries answers with the list as JSON. The header Link has the URL of the next part.
func (p *pages) serveSeries(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	if err := checkParameters(values, listParameters); err != nil {
		return err
	}
	filter, err := p.filterOf(values)
	if err != nil {
		return err
	}
	found, next, err := p.list(r, values, filter)
	if err != nil {
		return err
	}
	if next != "" {
		w.Header().Set("Link", "<"+next+`>; rel="next"`)
	}
	return writeJSON(w, r, found)
}

// selectBy returns what the parameters of a page select: a profile type, selectors, a time, a trace and a span.
func (p *pages) selectBy(r *http.Request, values url.Values, work *meter.Meter) (*query.Selection, error) {
	from, until, err := bounds(values, "", p.now())
	if err != nil {
		return nil, err
	}
	if until.At.IsZero() {
		until.At = store.Forever
	}
	return p.source.Select(&query.Request{
		Tenant: p.tenant(r.Header), TypeID: values.Get(typeParameter), Labels: values.Get(queryParameter), Start: from.At, End: until.At,
		TraceIDs: nonEmpty(values, traceParameter), SpanIDs: nonEmpty(values, spanParameter),
	}, work)
}

// treeOf returns the merged samples of one or two sides.
func treeOf(work *meter.Meter, sides ...*query.Selection) (*tree.Tree, error) {
	t := tree.New(work)
	for side, s := range sides {
		s.KeepLatest()
		if err := t.Merge(s, side); err != nil {
			return nil, err
		}
	}
	return t, nil
}

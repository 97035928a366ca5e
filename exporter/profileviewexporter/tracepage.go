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
	"strings"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

//go:embed trace.html
var traceText string

var traceTemplate = template.Must(template.New("trace").Parse(traceText))

const (
	// maxSearched limits the profiles that are searched for samples of a trace.
	maxSearched = 20_000
	// candidateBytes is the memory of a profile that could be searched, in a list that grows.
	candidateBytes = 16
)

// tracePage is the content of the page of a trace or span.
type tracePage struct {
	Kind, ID, TraceLink string
	Rows                []traceRow
	// Searched is the number of searched profiles. Limit is the limit that left out older profiles or rows, if any.
	Searched int
	Limit    string
}

// traceRow is a series with samples of the trace.
type traceRow struct {
	Service, Type     string
	Profiles, Samples int
	Flamegraph, Top   string
}

// serveTrace answers with the services and types that have samples of a trace or span, or redirects to the flame graph if there
// is only one. parameter is the name of the parameter for the ID, which is the last part of the path.
func (p *pages) serveTrace(kind, parameter string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		r, held, err := p.selecting(r, traceParameters)
		if err != nil {
			return err
		}
		defer held.Release()
		id := strings.ToLower(r.PathValue("id"))
		chosen := r.URL.Query()
		chosen.Set(parameter, id)
		found := &tracePage{Kind: kind, ID: id}
		if kind == "trace" && p.cfg.TraceURL != "" {
			found.TraceLink = p.traceLink(found.ID, "")
		}
		return p.serveLimited(r, chosen, func(work *merge.Work) ([]byte, error) {
			if err := p.searchTrace(work, r, chosen, found); err != nil {
				return nil, err
			}
			if len(found.Rows) == 1 {
				return nil, nil
			}
			var body bytes.Buffer
			if err := traceTemplate.Execute(&body, found); err != nil {
				return nil, fmt.Errorf("cannot make the page of a %s: %w", kind, err)
			}
			return body.Bytes(), nil
		}, func(body []byte) error {
			if len(found.Rows) == 1 {
				w.Header().Set("Location", found.Rows[0].Flamegraph)
				w.WriteHeader(http.StatusFound)
				return nil
			}
			const contentType = "text/html; charset=utf-8"
			w.Header().Set("Content-Type", contentType)
			if len(found.Rows) == 0 {
				w.WriteHeader(http.StatusNotFound)
			}
			return write(w, contentType, body)
		})
	}
}

// searchTrace searches the profiles in memory for samples, newest first, within max_request_size.
func (p *pages) searchTrace(work *merge.Work, r *http.Request, values url.Values, found *tracePage) error {
	now := p.now()
	from, until, err := bounds(values, "", now)
	if err != nil {
		return err
	}
	// All profiles of that time are candidates: those with other attributes do not count towards the limit.
	profiles, _ := p.store.Held()
	if err := work.Reservation.Grow(work.Context, work.Reservation.Bytes()+candidateBytes*profiles); err != nil {
		return err
	}
	entries := p.store.Newest(p.tenant(r), from, until, int(profiles))
	attributes := attributesOf(r, "")
	rows := map[[2]string]int{}
	var raw []byte
	size := int64(0)
	for _, e := range entries {
		matches, err := e.Matches(work.Context, attributes)
		if err != nil {
			return err
		}
		if !matches {
			continue
		}
		if found.Searched == maxSearched {
			found.Limit = fmt.Sprintf("%d profiles", maxSearched)
			break
		}
		if size += int64(e.Inflated); size > p.cfg.MaxRequestSize {
			found.Limit = fmt.Sprintf("%d bytes (max_request_size)", p.cfg.MaxRequestSize)
			break
		}
		found.Searched++
		samples := 0
		if samples, raw, err = merge.Count(work, raw, e); err != nil {
			return err
		}
		if samples > 0 {
			found.add(rows, e, samples)
		}
	}
	if err := reserveLinks(work, r, 2*len(found.Rows)); err != nil {
		return err
	}
	found.addLinks(values)
	return nil
}

// add adds samples to the row of a series.
func (f *tracePage) add(rows map[[2]string]int, e *recent.Entry, samples int) {
	name := [2]string{e.Service, e.Type}
	row, known := rows[name]
	if !known {
		if len(f.Rows) == maxTraceRows {
			f.Limit = fmt.Sprintf("%d rows", maxTraceRows)
			return
		}
		row = len(f.Rows)
		rows[name] = row
		f.Rows = append(f.Rows, traceRow{Service: e.Service, Type: e.Type})
	}
	f.Rows[row].Profiles++
	f.Rows[row].Samples += samples
}

// addLinks adds the links of all rows.
func (f *tracePage) addLinks(values url.Values) {
	query := "?" + choosing(values).Encode()
	for i := range f.Rows {
		row := &f.Rows[i]
		row.Flamegraph = "../" + address("view", row.Service, row.Type, "flamegraph") + query
		row.Top = "../" + address("view", row.Service, row.Type, "top") + query
	}
}

// maxTraceRows limits the services and types on the page.
const maxTraceRows = 100

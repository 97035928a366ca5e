// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

//go:embed list.html
var listText string

var listTemplate = template.Must(template.New("list").Parse(listText))

// listed is a series on the page.
type listed struct {
	recent.Series
	First bool // of its service
	More  bool // of its service follow
	Size  string
	Last  string
	Ago   string
	// The links; all are relative, so that they hold below any prefix.
	Profile, Flamegraph, Top, PGO string
}

// seriesPerAnswer bounds what one answer lists.
const seriesPerAnswer = 2000

// list returns the series for an answer, and the query of the next answer if there are more.
func (p *pages) list(r *http.Request) (all []recent.Series, next string) {
	query := r.URL.Query()
	all, more := p.store.List(p.tenant(r), query.Get("after_service"), query.Get("after_type"), seriesPerAnswer)
	if more {
		last := all[len(all)-1]
		next = "?" + url.Values{"after_service": {last.Service}, "after_type": {last.Type}}.Encode()
	}
	return all, next
}

// serveSeries answers with the list as JSON. A header has the address of those that follow.
func (p *pages) serveSeries(w http.ResponseWriter, r *http.Request) error {
	all, next := p.list(r)
	if next != "" {
		w.Header().Set("Link", "<"+next+`>; rel="next"`)
	}
	return p.listing(w, r, all, "application/json", func() ([]byte, error) { return json.Marshal(all) })
}

// serveList answers with the page of all series.
func (p *pages) serveList(w http.ResponseWriter, r *http.Request) error {
	all, next := p.list(r)
	return p.listing(w, r, all, "text/html; charset=utf-8", func() ([]byte, error) {
		var body bytes.Buffer
		err := listTemplate.Execute(&body, map[string]any{
			"Rows": p.rows(all), "Next": next, "Begin": r.URL.RawQuery == "",
		})
		return body.Bytes(), err
	})
}

// What a series takes while it is listed, beside its names, and how many times the length of those: escaped, in six links.
const (
	seriesBytes = 4 << 10
	namesCost   = 64
)

// listing reserves memory for the series of an answer, makes it and writes it.
func (p *pages) listing(w http.ResponseWriter, r *http.Request, all []recent.Series, contentType string, answer func() ([]byte, error)) error {
	size := int64(leastWork)
	for _, s := range all {
		size += seriesBytes + namesCost*int64(len(s.Service)+len(s.Type))
	}
	reservation, err := p.budget.Reserve(r.Context(), size)
	if err != nil {
		return err
	}
	defer reservation.Release()
	body, err := answer()
	if err != nil {
		return fmt.Errorf("cannot make the list: %w", err)
	}
	if body, err = encoded(w, r, body); err != nil {
		return err
	}
	reservation.Shrink(int64(cap(body)))
	return write(w, contentType, body)
}

func (p *pages) rows(all []recent.Series) []listed {
	rows := make([]listed, len(all))
	for i, s := range all {
		rows[i] = listed{
			Series:     s,
			First:      i == 0 || all[i-1].Service != s.Service,
			More:       i+1 < len(all) && all[i+1].Service == s.Service,
			Size:       sizeText(s.Bytes),
			Last:       s.Last.UTC().Format(time.RFC3339),
			Ago:        agoText(p.now().Sub(s.Last)),
			Profile:    address("profiles", s.Service, s.Type),
			Flamegraph: address("view", s.Service, s.Type, "flamegraph"),
			Top:        address("view", s.Service, s.Type, "top"),
		}
		if s.CPU {
			rows[i].PGO = address("pgo", s.Service)
		}
	}
	return rows
}

// encoded returns the body of an answer, compressed for those who take that.
func encoded(w http.ResponseWriter, r *http.Request, body []byte) ([]byte, error) {
	if !takesGzip(r) {
		return body, nil
	}
	w.Header().Set("Content-Encoding", "gzip")
	return pprof.AppendGzip(nil, body, 0)
}

func write(w http.ResponseWriter, contentType string, body []byte) error {
	w.Header().Set("Content-Type", contentType)
	_, err := w.Write(body) //nolint:gosec,nolintlint // names are escaped; gosec sees this in some runs only
	return err
}

func takesGzip(r *http.Request) bool {
	for encoding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, parameters, _ := strings.Cut(strings.TrimSpace(encoding), ";")
		if strings.TrimSpace(name) == "gzip" && strings.TrimSpace(parameters) != "q=0" {
			return true
		}
	}
	return false
}

func sizeText(bytes int64) string {
	switch {
	case bytes < 1<<10:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

func agoText(age time.Duration) string {
	switch {
	case age < 0:
		return "now"
	case age < time.Minute:
		return fmt.Sprintf("%d s ago", int(age.Seconds()))
	case age < time.Hour:
		return fmt.Sprintf("%d min ago", int(age.Minutes()))
	case age < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(age.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(age.Hours()/24))
}

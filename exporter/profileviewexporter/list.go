// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
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
	Profile, Flamegraph, Top, Peek, PGO string
}

// seriesPerAnswer bounds what one answer lists.
const seriesPerAnswer = 2000

// The parameters that name the series before the first of an answer.
const (
	afterServiceParameter = "after_service"
	afterTypeParameter    = "after_type"
)

// list returns the series for an answer, and the query of the next answer if there are more.
func (p *pages) list(r *http.Request, values url.Values) (all []recent.Series, next string, err error) {
	if err := checkParameters(values, listParameters); err != nil {
		return nil, "", err
	}
	q := recent.ListQuery{
		Tenant:       p.tenant(r),
		AfterService: values.Get(afterServiceParameter), AfterType: values.Get(afterTypeParameter),
		Attributes: attributesOf(values, ""), Limit: seriesPerAnswer,
	}
	now := p.now()
	if q.From, err = bound(values, fromParameter, now); err != nil {
		return nil, "", err
	}
	if q.Until, err = bound(values, untilParameter, now); err != nil {
		return nil, "", err
	}
	all, more := p.store.List(&q)
	if more {
		last := all[len(all)-1]
		following := r.URL.Query()
		following.Set(afterServiceParameter, last.Service)
		following.Set(afterTypeParameter, last.Type)
		next = "?" + following.Encode()
	}
	return all, next, nil
}

// serveSeries answers with the list as JSON. A header has the address of those that follow.
func (p *pages) serveSeries(w http.ResponseWriter, r *http.Request) error {
	all, next, err := p.list(r, r.URL.Query())
	if err != nil {
		return err
	}
	if next != "" {
		w.Header().Set("Link", "<"+next+`>; rel="next"`)
	}
	return p.listing(w, r, all, "application/json", func() ([]byte, error) { return json.Marshal(all) })
}

// serveList answers with the page of the series of a time, the last minutes unless another one is asked for.
func (p *pages) serveList(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	if values.Get(fromParameter) == "" && values.Get(untilParameter) == "" {
		values.Set(fromParameter, listedTime)
	}
	all, next, err := p.list(r, values)
	if err != nil {
		return err
	}
	return p.listing(w, r, all, "text/html; charset=utf-8", func() ([]byte, error) {
		var body bytes.Buffer
		err := listTemplate.Execute(&body, p.listPage(r, values, all, next))
		return body.Bytes(), err
	})
}

// listPage is what the page of the list shows.
type listPage struct {
	Rows []listed
	// Time is that of what is listed. Held is how many profiles there are of all times, where none is listed.
	Time    string
	Held    int
	Presets []choice
	// Refresh leads to the same page, All to all that is held, JSON to the same for programs, Next and First to other parts
	// of a long list.
	Refresh, All, JSON, Next, First string
}

func (p *pages) listPage(r *http.Request, values url.Values, all []recent.Series, next string) *listPage {
	page := &listPage{
		Rows: p.rows(all, choosing(values)), Time: timeText(values), Next: next,
		Refresh: "?" + r.URL.RawQuery, All: "?" + withTime(values, allTimes).Encode(), JSON: "profiles?" + choosing(values).Encode(),
	}
	if len(all) == 0 {
		page.Held = p.store.HeldOf(p.tenant(r))
	}
	first := maps.Clone(values)
	first.Del(afterServiceParameter)
	first.Del(afterTypeParameter)
	if len(first) < len(values) {
		page.First = "?" + first.Encode()
	}
	current, isPreset := presetOf(values)
	for _, offered := range presets {
		page.Presets = append(page.Presets, choice{
			Name: offered.name, Link: "?" + withTime(first, offered.from).Encode(), Current: isPreset && current.from == offered.from,
		})
	}
	return page
}

// choosing returns the parameters that say which profiles of a series are wanted.
func choosing(values url.Values) url.Values {
	kept := url.Values{}
	for name, list := range values {
		if slices.Contains(chooseParameters, name) || isAttribute(name, "") {
			kept[name] = list
		}
	}
	return kept
}

// What a series takes while it is listed, beside its names, and how many times the length of those and of the query: escaped, in
// six links.
const (
	seriesBytes = 4 << 10
	namesCost   = 64
	queryCost   = 48
)

// listing reserves memory for the series of an answer, makes it and writes it.
func (p *pages) listing(w http.ResponseWriter, r *http.Request, all []recent.Series, contentType string, answer func() ([]byte, error)) error {
	size := int64(leastWork)
	for _, s := range all {
		size += seriesBytes + namesCost*int64(len(s.Service)+len(s.Type)) + queryCost*int64(len(r.URL.RawQuery))
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

// rows are what the page shows of series. Their links are for the profiles that are chosen.
func (p *pages) rows(all []recent.Series, chosen url.Values) []listed {
	rows := make([]listed, len(all))
	query := "?" + chosen.Encode()
	for i, s := range all {
		rows[i] = listed{
			Series:     s,
			First:      i == 0 || all[i-1].Service != s.Service,
			More:       i+1 < len(all) && all[i+1].Service == s.Service,
			Size:       sizeText(s.Bytes),
			Last:       s.Last.UTC().Format(time.RFC3339),
			Ago:        agoText(p.now().Sub(s.Last)),
			Profile:    address("profiles", s.Service, s.Type) + query,
			Flamegraph: address("view", s.Service, s.Type, "flamegraph") + query,
			Top:        address("view", s.Service, s.Type, "top") + query,
			Peek:       address("view", s.Service, s.Type, "peek") + query,
		}
		if s.PGO {
			rows[i].PGO = address("pgo", s.Service) + query
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

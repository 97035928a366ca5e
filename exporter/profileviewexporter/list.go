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
	"strconv"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

//go:embed list.html
var listText string

var listTemplate = template.Must(template.New("list").Parse(listText))

// seriesPerAnswer limits the series in one answer.
const seriesPerAnswer = 2000

// These parameters name the series before the first series of an answer.
const (
	afterServiceParameter = "after_service"
	afterTypeParameter    = "after_type"
)

// These parameters select and sort the list. refreshParameter makes the page reload.
const (
	searchParameter  = "q"
	sortParameter    = "sort"
	refreshParameter = "refresh"
)

// seriesPart is a part of the list. If there are more series, next is the query of the next part, or isCut is true: only the list by
// service and type has a next part.
type seriesPart struct {
	series []recent.Series
	next   string
	isCut  bool
}

// list returns the part of the list that the parameters select.
func (p *pages) list(r *http.Request, values url.Values) (part seriesPart, err error) {
	now := p.now()
	q := recent.ListQuery{
		Tenant:       p.tenant(r),
		AfterService: values.Get(afterServiceParameter), AfterType: values.Get(afterTypeParameter),
		Attributes: attributesOf(r, ""), Search: values.Get(searchParameter), Now: now, Limit: seriesPerAnswer,
	}
	if q.Order, err = orderOf(values.Get(sortParameter)); err != nil {
		return part, err
	}
	if q.From, q.Until, err = bounds(values, "", now); err != nil {
		return part, err
	}
	release, err := p.acquireFor(r, q.Attributes)
	if err != nil {
		return part, err
	}
	defer release()
	all, more, err := p.store.List(r.Context(), &q)
	if err != nil {
		return part, err
	}
	part.series = all
	switch {
	case more && q.Order == nil:
		last := all[len(all)-1]
		following := r.URL.Query()
		following.Set(afterServiceParameter, last.Service)
		following.Set(afterTypeParameter, last.Type)
		part.next = "?" + following.Encode()
	case more:
		part.isCut = true
	}
	return part, nil
}

// seriesCutHeader has the number of series in an answer that is cut and has no next part.
const seriesCutHeader = "X-Pprof-Series-Cut"

// serveSeries answers with the list as JSON. The header Link has the URL of the next part.
func (p *pages) serveSeries(w http.ResponseWriter, r *http.Request) error {
	r, held, err := p.selecting(r, listParameters)
	if err != nil {
		return err
	}
	defer held.Release()
	part, err := p.list(r, r.URL.Query())
	if err != nil {
		return err
	}
	if part.next != "" {
		w.Header().Set("Link", "<"+part.next+`>; rel="next"`)
	}
	if part.isCut {
		w.Header().Set(seriesCutHeader, strconv.Itoa(len(part.series)))
	}
	return p.listing(w, r, 0, part.series, "application/json", func() ([]byte, error) { return json.Marshal(part.series) })
}

// serveList answers with the page of the series. The default time is the last minutes.
func (p *pages) serveList(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	r, held, err := p.selecting(r, listPageParameters)
	if err != nil {
		return err
	}
	defer held.Release()
	refresh, err := refreshOf(values)
	if err != nil {
		return err
	}
	if values.Get(fromParameter) == "" && values.Get(untilParameter) == "" {
		values.Set(fromParameter, listedTime)
	}
	part, err := p.list(r, values)
	if err != nil {
		return err
	}
	return p.listing(w, r, facetBytes, part.series, "text/html; charset=utf-8", func() ([]byte, error) {
		var body bytes.Buffer
		err := listTemplate.Execute(&body, p.listPage(r, values, part, refresh))
		return body.Bytes(), err
	})
}

// choosing returns the parameters that select profiles of a series.
func choosing(values url.Values) url.Values {
	return only(values, func(name string) bool { return isKnown(name, chooseParameters) })
}

// The memory to list a series: a fixed part, and a multiple of the length of its names and of the query, which are escaped in
// six links.
const (
	seriesBytes = 4 << 10
	namesCost   = 64
	queryCost   = 48
	// facetBytes is the memory to collect and write the attributes of the form.
	facetBytes = 2 << 20
)

// listing reserves memory for the series of an answer and for extra bytes, then makes and writes the answer.
func (p *pages) listing(w http.ResponseWriter, r *http.Request, extra int64, all []recent.Series, contentType string, answer func() ([]byte, error)) error {
	size := leastWork + extra
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

// encoded returns the body of an answer, compressed if the client accepts that.
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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
)

//go:embed plain.html
var plainText string

var plainTemplate = template.Must(template.New("plain").Funcs(template.FuncMap{"amount": amount, "share": share}).Parse(plainText))

// plainPage is a page that needs no script: the list, or the heaviest functions of a selection.
type plainPage struct {
	// Up is the relative path to the page with scripts.
	Up, Title string
	// Query is the selectors, and Time the link to each time range.
	Query string
	From  string
	Times []plainLink

	Services []plainService
	Next     string

	ID string
	*functionTable
	// Left is the number of functions that are not shown.
	Left      int
	Downloads []plainLink
}

type plainLink struct {
	Text, URL string
	IsCurrent bool
}

// plainService has the series of a service.
type plainService struct {
	Name   string
	Series []plainSeries
}

type plainSeries struct {
	Type, Last string
	Profiles   int
	Views      []plainLink
	Command    string
}

// plainRows limits the functions on a page.
const plainRows = 500

// The time ranges of the pages. The first is the default.
var plainTimes = []plainLink{{Text: "last hour", URL: "-1h"}, {Text: "last 5 min", URL: "-5m"}, {Text: "last 15 min", URL: "-15m"}, {Text: "all", URL: allTimes}}

// newPlainPage returns a page with links to other times.
func newPlainPage(up, title string, values url.Values) *plainPage {
	page := &plainPage{Up: up, Title: title, Query: values.Get(queryParameter), From: values.Get(fromParameter)}
	for _, t := range plainTimes {
		other := maps.Clone(values)
		other.Set(fromParameter, t.URL)
		other.Del(untilParameter)
		page.Times = append(page.Times, plainLink{t.Text, "?" + other.Encode(), values.Get(fromParameter) == t.URL && values.Get(untilParameter) == ""})
	}
	return page
}

// plain returns the text of a page.
func (v *visit) plain(page *plainPage) ([]byte, error) {
	var body bytes.Buffer
	if err := plainTemplate.Execute(&body, page); err != nil {
		return nil, fmt.Errorf("cannot make the page: %w", err)
	}
	v.header.Set("Content-Type", "text/html; charset=utf-8")
	return body.Bytes(), nil
}

// The memory of a link on a page: a fixed part, and a multiple of the length of what it repeats, which is escaped.
const (
	linkBytes = 512
	linkCost  = 24
)

// plainList answers with the list of services and their profile types.
func (v *visit) plainList() ([]byte, error) {
	if v.values.Get(fromParameter) == "" {
		v.values.Set(fromParameter, plainTimes[0].URL)
	}
	selectors, err := parseSelectors(v.values.Get(queryParameter))
	if err != nil {
		return nil, err
	}
	filter, err := v.newFilter(selectors, nil, nil)
	if err != nil {
		return nil, err
	}
	found, next, err := v.series(filter)
	if err != nil {
		return nil, err
	}
	page := newPlainPage("./", "Profiles", v.values)
	page.Next = next
	for i := range found {
		s := &found[i]
		for _, id := range s.IDs {
			if err := v.work.Use(linkBytes + linkCost*int64(len(id)+len(s.Service)+len(v.request.URL.RawQuery))); err != nil {
				return nil, err
			}
		}
		if n := len(page.Services); n == 0 || page.Services[n-1].Name != s.Service {
			page.Services = append(page.Services, plainService{Name: s.Service})
		}
		last := &page.Services[len(page.Services)-1]
		last.Series = append(last.Series, plainSeriesOf(s, v.values))
	}
	return v.plain(page)
}

func plainSeriesOf(s *store.Series, values url.Values) plainSeries {
	one := plainSeries{
		Type: s.Type, Profiles: s.Profiles, Last: time.Since(s.Last).Round(time.Second).String() + " ago",
		Command: "profiles/" + url.PathEscape(s.Service) + "/" + url.PathEscape(s.Type),
	}
	selectors := "{service_name=" + strconv.Quote(s.Service) + "}"
	if query := strings.TrimSpace(values.Get(queryParameter)); query != "" {
		selectors = strings.TrimSuffix(selectors, "}") + "," + strings.TrimPrefix(query, "{")
	}
	for _, id := range s.IDs {
		view := url.Values{typeParameter: {id}, queryParameter: {selectors}, fromParameter: values[fromParameter]}
		if until := values.Get(untilParameter); until != "" {
			view.Set(untilParameter, until)
		}
		one.Views = append(one.Views, plainLink{Text: strings.Split(id, ":")[1], URL: "plain/functions?" + view.Encode()})
	}
	return one
}

// plainFunctions answers with the heaviest functions of a selection.
func (v *visit) plainFunctions() ([]byte, error) {
	s, err := v.selectBy(v.values)
	if err != nil {
		return nil, err
	}
	table, err := v.functionTable("", s)
	if err != nil {
		return nil, err
	}
	page := newPlainPage("../", "Functions", v.values)
	page.ID, page.functionTable = v.values.Get(typeParameter), table
	page.Left = max(len(table.Functions)-plainRows, 0)
	table.Functions = table.Functions[:len(table.Functions)-page.Left]
	for _, format := range []string{"pprof", "collapsed", "speedscope", "svg", "pgo"} {
		if format != "pgo" || strings.Contains(page.ID, "cpu") {
			page.Downloads = append(page.Downloads, plainLink{Text: format, URL: "../download/" + format + "?" + v.values.Encode()})
		}
	}
	return v.plain(page)
}

// share returns a part of a whole as the page writes it: with one decimal, none from 100, or one digit below 0.1.
func share(part, whole int64) string {
	percent := 100 * float64(part) / float64(max(whole, 1))
	switch {
	case part == 0:
		return "0 %"
	case math.Abs(percent) < 0.1:
		return strconv.FormatFloat(max(math.Abs(percent), 0.001), 'g', 1, 64) + " %"
	case percent >= 99.95:
		return strconv.FormatFloat(percent, 'f', 0, 64) + " %"
	}
	return strconv.FormatFloat(percent, 'f', 1, 64) + " %"
}

// scale is a unit and its size in the smallest unit.
type scale struct {
	factor float64
	name   string
}

// scales are the units for amounts in some units of profiles. An amount has the largest unit that is not larger than the value.
var scales = map[string][]scale{
	"nanoseconds": {{3600e9, "h"}, {60e9, "min"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}},
	"bytes":       {{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}},
}

// amount returns a value and its unit as a text for the user.
func amount(value int64, unit string) string {
	for _, s := range scales[unit] {
		if number := float64(value) / s.factor; math.Abs(number) >= 1 {
			decimals := 3 - min(len(strconv.Itoa(int(math.Abs(number)))), 3) // three digits
			if s.factor == 1 {
				decimals = 0
			}
			return strconv.FormatFloat(number, 'f', decimals, 64) + " " + s.name
		}
	}
	if unit == "count" || value == 0 {
		unit = ""
	}
	return strings.TrimSpace(fmt.Sprintf("%d %.40s", value, unit))
}

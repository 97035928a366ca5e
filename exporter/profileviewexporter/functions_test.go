// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
)

// stacks returns a profile of a time with a sample for each stack. Stacks are written from root to leaf.
func stacks(t *testing.T, at time.Time, values map[string]int64) []byte {
	t.Helper()
	p := deliverytest.Parsed(t, made(t, at, []string{"samples"}, 1))
	p.Function, p.Location, p.Sample = nil, nil, nil
	known := map[string]*profile.Location{}
	for _, stack := range slices.Sorted(maps.Keys(values)) {
		s := &profile.Sample{Value: []int64{values[stack]}}
		for name := range strings.FieldsSeq(stack) {
			if known[name] == nil {
				f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name}
				known[name] = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, known[name])
			}
			s.Location = slices.Insert(s.Location, 0, known[name])
		}
		p.Sample = append(p.Sample, s)
	}
	return written(t, p)
}

// rowsOf returns the cells of each row of the last table of a page, without markup.
func rowsOf(page string) (rows [][]string) {
	_, page, _ = strings.Cut(page, "<main>")
	for _, row := range regexp.MustCompile(`(?s)<tr>(<td.*?)</tr>`).FindAllStringSubmatch(page, -1) {
		var cells []string
		for _, cell := range regexp.MustCompile(`(?s)<td[^>]*>(.*?)</td>`).FindAllStringSubmatch(row[1], -1) {
			cells = append(cells, html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(cell[1], "")))
		}
		rows = append(rows, cells)
	}
	return rows
}

// The table of functions can be searched and sorted, and links to the callers and callees of each function.
func TestServerFunctions(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, stacks(t, time.Now(), map[string]int64{"main a b": 10, "main c": 30, "main a": 1, "main c <b>": 5}), map[string]any{"service.name": "s"})
	const path = "/view/s/samples/functions?from=-15m"
	response, body := s.get(t, path)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	assert.Equal(t, policyOwn, response.Header.Get("Content-Security-Policy"))
	assert.Equal(t, [][]string{
		{"30", "65.2 %", "35", "76.1 %", "c"},
		{"10", "21.7 %", "10", "21.7 %", "b"},
		{"5", "10.9 %", "5", "10.9 %", "<b>"},
		{"1", "2.2 %", "11", "23.9 %", "a"},
		{"0", "0.0 %", "46", "100.0 %", "main"},
	}, rowsOf(string(body)))
	assert.Contains(t, string(body), `<th scope="col" class="number" aria-sort="descending">`)
	links := linksOf(string(body))
	_, page := s.follow(t, s.url+path, links["Cum"])
	assert.Equal(t, "main", rowsOf(page)[0][4])
	_, page = s.follow(t, s.url+path, links["Function"])
	assert.Equal(t, "<b>", rowsOf(page)[0][4])
	_, body = s.get(t, path+"&q=B")
	assert.Len(t, rowsOf(string(body)), 2)

	response, page = s.follow(t, s.url+path, links["a"])
	require.Equal(t, http.StatusOK, response.StatusCode, page)
	assert.Contains(t, page, "<h1>a</h1>")
	assert.Contains(t, page, "Cum 11, flat 1.")
	assert.Equal(t, [][]string{{"11", "100.0 %", "main"}, {"10", "90.9 %", "b"}, {"1", "9.1 %", "(self)"}}, rowsOf(page))
	at := response.Request.URL.String()
	_, next := s.follow(t, at, linksOf(page)["b"])
	assert.Contains(t, next, "<h1>b</h1>")
	_, next = s.follow(t, at, linksOf(page)["Its flame graph"])
	assert.Contains(t, next, `"FullName":"b"`)
	assert.NotContains(t, next, `"FullName":"c"`, "functions without a relation to it are left out")
	_, next = s.follow(t, at, linksOf(page)["All functions"])
	assert.Contains(t, next, "<h1>Functions</h1>")
	for query, want := range map[string]int{"&sort=x": 400, "&function=none": 404, "&si=none": 400, "&f=main": 400, "&function=%3Cb%3E": 200} {
		response, body := s.get(t, path+query)
		assert.Equal(t, want, response.StatusCode, "%s: %.200s", query, body)
	}
}

// The table shows the largest functions. A search finds the others.
func TestServerManyFunctions(t *testing.T) {
	s := newServing(t, nil)
	many := map[string]int64{}
	for i := range maxFunctions + 50 {
		many[fmt.Sprintf("main f%04d", i)] = int64(1000 - i)
	}
	s.post(t, stacks(t, time.Now(), many), map[string]any{"service.name": "s"})
	_, body := s.get(t, "/view/s/samples/functions")
	assert.Len(t, rowsOf(string(body)), maxFunctions)
	assert.Contains(t, string(body), "This page has 500 of 551 functions")
	_, body = s.get(t, "/view/s/samples/functions?q=f0549")
	assert.Len(t, rowsOf(string(body)), 1)
	_, body = s.get(t, "/view/s/samples/functions?function=main")
	assert.Contains(t, string(body), "and 50 others")
}

// The frames that a profile drops are on no page, and in no download except pprof.
func TestServerDropsFrames(t *testing.T) {
	s := newServing(t, nil)
	p := deliverytest.Parsed(t, stacks(t, time.Now(), map[string]int64{"main work leaf": 5, "main leaf other": 2}))
	p.DropFrames = "leaf"
	s.post(t, written(t, p), map[string]any{"service.name": "s"})
	for _, path := range []string{
		"/view/s/samples/flamegraph", "/view/s/samples/both", "/view/s/samples/top", "/view/s/samples/peek", "/view/s/samples/functions",
		"/view/s/samples/compare?base_from=all", "/collapsed/s/samples", "/speedscope/s/samples", "/svg/s/samples",
	} {
		response, body := s.get(t, path)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", path, body)
		assert.Contains(t, string(body), "work", path)
		assert.NotContains(t, string(body), `leaf`, path)
	}
	_, body := s.get(t, "/collapsed/s/samples")
	assert.Equal(t, "main 2\nmain;work 5\n", string(body))
	_, body = s.get(t, "/profiles/s/samples")
	assert.Equal(t, "leaf", deliverytest.Parsed(t, body).DropFrames)
	assert.Len(t, deliverytest.Parsed(t, body).Function, 4)
}

// A form compares two services: totals, images, and the functions with the largest changes.
func TestServerComparePage(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, stacks(t, time.Now(), map[string]int64{"main a": 40, "main b": 10}), map[string]any{"service.name": "before", "pod": "p"})
	s.post(t, stacks(t, time.Now(), map[string]int64{"main a": 10, "main <c>": 15}), map[string]any{"service.name": "now", "pod": "q"})
	s.post(t, stacks(t, time.Now(), map[string]int64{"main a": 7}), map[string]any{"service.name": "now", "pod": "r"})
	const path = "/view/now/samples/flamegraph?from=-15m&resource.pod=q"
	_, body := s.get(t, path)
	response, page := s.follow(t, s.url+path, linksOf(string(body))["Compare"])
	require.Equal(t, http.StatusOK, response.StatusCode, page)
	assert.Equal(t, policyOwn, response.Header.Get("Content-Security-Policy"))
	assert.Contains(t, page, `<input name="base_from" value="-15m"`)
	assert.Contains(t, page, `<select name="resource.pod" aria-label="resource.pod"><option value="">any</option><option value="q" selected>q</option>`)
	assert.Contains(t, page, `<select name="base_resource.pod"`)
	assert.NotContains(t, page, "<svg xmlns", "nothing is compared yet")

	const compared = "/view/now/samples/compare?from=-15m&until=&resource.pod=q&base_from=-15m&base_until=&base_service=before&base_type="
	response, body = s.get(t, compared)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	page = string(body)
	for _, want := range []string{"<strong>25</strong>", "compared with <strong>50</strong> (before: 1 profile", `<strong class="less">-25 (-50.0 %)</strong>`} {
		assert.Contains(t, page, want)
	}
	assert.Equal(t, 3, strings.Count(page, "<svg xmlns"))
	_, table, _ := strings.Cut(page, "<h2>Functions</h2>")
	assert.Equal(t, [][]string{
		{"40", "10", "-30", "40", "10", "-30", "a"},
		{"0", "15", "+15", "0", "15", "+15", "<c>"},
		{"10", "0", "-10", "10", "0", "-10", "b"},
		{"0", "0", "0", "50", "25", "-25", "main"},
	}, rowsOf("<main>"+table))
	assert.NotContains(t, page, "<c>")
	links := linksOf(page)
	_, next := s.follow(t, s.url+compared, links["a"])
	assert.Contains(t, next, "Cum 10, flat 10; before cum 40, flat 40.")
	_, next = s.follow(t, s.url+compared, links["Interactive flame graph of the difference"])
	assert.Contains(t, next, `<section id="legend" aria-label="Comparison">`)
	_, next = s.follow(t, s.url+compared, links["Change of cum"])
	_, table, _ = strings.Cut(next, "<h2>Functions</h2>")
	assert.Equal(t, "main", rowsOf("<main>" + table)[1][6])
	_, body = s.get(t, "/view/now/samples/functions?base_service=before")
	assert.Len(t, rowsOf(string(body))[0], 7, "the table of functions compares too")
	for query, want := range map[string]int{"&sort=x": 400, "&function=a": 400, "&base_labels.x=y": 400, "&base_label.x=y": 200} {
		response, _ := s.get(t, compared+query)
		assert.Equal(t, want, response.StatusCode, query)
	}
}

// Two values of a label are compared.
func TestServerComparesLabels(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, labelled(t, 1), map[string]any{"service.name": "s"})
	for _, page := range []string{"flamegraph", "both", "top", "peek", "functions", "compare"} {
		response, body := s.get(t, "/view/s/samples/"+page+"?label.region=eu&base_label.region="+url.QueryEscape("us <&>"))
		require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
		assert.Contains(t, string(body), "<strong>1</strong>", page)
		assert.Contains(t, string(body), "compared with <strong>10</strong>", page)
	}
}

// The image has boxes as wide as their values, and no script.
func TestServerSVG(t *testing.T) {
	s := newServing(t, nil)
	const evil = "</title><script>alert(1)</script>"
	s.post(t, stacks(t, time.Now(), map[string]int64{"main a": 30, "main " + strings.ReplaceAll(evil, " ", ""): 10}), map[string]any{"service.name": "<s>"})
	path := "/view/%3Cs%3E/samples/top?from=-15m"
	_, body := s.get(t, path)
	response, image := s.follow(t, s.url+path, linksOf(string(body))["SVG"])
	require.Equal(t, http.StatusOK, response.StatusCode, image)
	assert.Equal(t, "image/svg+xml", response.Header.Get("Content-Type"))
	assert.Equal(t, policyPlain, response.Header.Get("Content-Security-Policy"))
	assert.Contains(t, response.Header.Get("Content-Disposition"), "attachment")
	assert.NotContains(t, image, "<script")
	widths := map[string]float64{}
	title, decoder := "", xml.NewDecoder(strings.NewReader(image))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch element := token.(type) {
		case xml.CharData:
			if text := strings.TrimSpace(string(element)); strings.Contains(text, " (") {
				title = text
			}
		case xml.StartElement:
			assert.NotContains(t, []string{"script", "foreignObject", "a", "style"}, element.Name.Local)
			for _, a := range element.Attr {
				if element.Name.Local == "rect" && a.Name.Local == "width" {
					width, err := strconv.ParseFloat(a.Value, 64)
					require.NoError(t, err)
					name, _, _ := strings.Cut(title, " (")
					widths[name] = width
				}
			}
		}
	}
	assert.InDelta(t, 1200, widths["main"], 1)
	assert.InDelta(t, 900, widths["a"], 1)
	assert.InDelta(t, 300, widths[evil], 1)
	response, _ = s.get(t, "/svg/%3Cs%3E/samples?si=none")
	assert.Equal(t, http.StatusBadRequest, response.StatusCode)
	response, _ = s.get(t, "/svg/%3Cs%3E/samples?f=x")
	assert.Equal(t, http.StatusBadRequest, response.StatusCode)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// besideRows returns the cells of the table beside a flame graph.
func besideRows(page string) [][]string {
	_, table, _ := strings.Cut(page, `<section id="functions"`)
	return rowsOf("<main>" + table)
}

// The graph and the table are one page. Each row links to the graph of its function.
func TestServerBeside(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, stacks(t, time.Now(), map[string]int64{"main a": 40, "main b": 10}), map[string]any{"service.name": "s", "pod": "p"})
	s.post(t, stacks(t, time.Now(), map[string]int64{"main a": 10, "main c.(*D).<e>": 15}), map[string]any{"service.name": "s", "pod": "q"})
	const path = "/view/s/samples/flamegraph?from=-15m&resource.pod=q"
	_, body := s.get(t, path)
	response, page := s.follow(t, s.url+path, linksOf(string(body))["Graph and table"])
	require.Equal(t, http.StatusOK, response.StatusCode, page)
	assert.Equal(t, policyViewer, response.Header.Get("Content-Security-Policy"))
	assert.Equal(t, "/view/s/samples/both?from=-15m&resource.pod=q", response.Request.URL.RequestURI())
	_, graph, found := strings.Cut(page, `<div id="both"><div id="stack-holder" role="main"`)
	require.True(t, found)
	before, _, found := strings.Cut(graph, `<section id="functions"`)
	require.True(t, found, "the graph comes first")
	assert.Contains(t, before, `<div id="stack-chart" role="tree"`)
	assert.Equal(t, [][]string{{"15", "15", "c.(*D).<e>"}, {"10", "10", "a"}, {"0", "25", "main"}}, besideRows(page))
	links := linksOf(page)
	assert.Equal(t, `?from=-15m&p=%5Ec%5C.%5C%28%5C%2AD%5C%29%5C.%3Ce%3E%28%23%5Cd%2B%29%3F%24&resource.pod=q`, links["c.(*D).<e>"])
	response, page = s.follow(t, s.url+path, "both"+links["Cum"])
	require.Equal(t, http.StatusOK, response.StatusCode, page)
	assert.Equal(t, "main", besideRows(page)[0][2])
	response, _ = s.follow(t, response.Request.URL.String(), linksOf(page)["c.(*D).<e>"])
	assert.Equal(t, http.StatusOK, response.StatusCode)

	_, body = s.get(t, "/view/s/samples/both?resource.pod=q&base_resource.pod=p")
	assert.Equal(t, [][]string{{"10", "-30", "10", "-30", "a"}, {"15", "+15", "15", "+15", "c.(*D).<e>"}, {"0", "-10", "0", "-10", "b"}, {"0", "0", "25", "-25", "main"}}, besideRows(string(body)))
	assert.Contains(t, string(body), `<section id="legend"`)
	for _, order := range []string{"name", "flat_change", "flat"} {
		for _, other := range []string{"both", "flamegraph", "top", "peek", "functions"} {
			response, body := s.get(t, "/view/s/samples/"+other+"?resource.pod=q&base_resource.pod=p&sort="+order)
			assert.Equal(t, http.StatusOK, response.StatusCode, "%s by %s: %.200s", other, order, body)
		}
	}
	response, _ = s.get(t, "/view/s/samples/both?sort=x")
	assert.Equal(t, http.StatusBadRequest, response.StatusCode)
}

// The table beside the graph has the largest functions, and a link to all.
func TestServerBesideMany(t *testing.T) {
	s := newServing(t, nil)
	many := map[string]int64{}
	for i := range maxBeside + 20 {
		many[fmt.Sprintf("main f%04d", i)] = int64(1000 - i)
	}
	s.post(t, stacks(t, time.Now(), many), map[string]any{"service.name": "s"})
	const path = "/view/s/samples/both?from=-15m"
	_, body := s.get(t, path)
	assert.Len(t, besideRows(string(body)), maxBeside)
	assert.Contains(t, string(body), "The table has 200 of 221 functions")
	_, page := s.follow(t, s.url+path, linksOf(string(body))["All functions"])
	assert.Len(t, rowsOf(page), maxBeside+21)
}

// The root is at the top or at the bottom. Links between the pages keep this.
func TestServerLayout(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, made(t, time.Now(), []string{"samples"}, 1), map[string]any{"service.name": "s"})
	for _, page := range []string{"flamegraph", "both"} {
		path := "/view/s/samples/" + page + "?from=-15m"
		_, body := s.get(t, path)
		assert.Contains(t, string(body), `<html lang="en" class="icicle">`)
		response, flame := s.follow(t, s.url+path, linksOf(string(body))["at the bottom"])
		assert.Equal(t, "from=-15m&layout=flame", response.Request.URL.RawQuery)
		assert.Contains(t, flame, `<html lang="en" class="flame">`)
		assert.Equal(t, "?from=-15m", linksOf(flame)["Root at the top"])
		for _, other := range []string{"Functions", "Labels", "Compare", "Graph and table", "samples"} {
			response, next := s.follow(t, s.url+path, linksOf(flame)[other])
			require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", other, next)
			_, again := s.follow(t, response.Request.URL.String(), linksOf(next)["Flame graph"])
			assert.Contains(t, again, `class="flame"`, other)
		}
	}
	response, body := s.get(t, "/view/s/samples/flamegraph?layout=up")
	assert.Equal(t, http.StatusBadRequest, response.StatusCode)
	assert.Contains(t, string(body), `layout must be icicle or flame, not "up"`)
	root := regexp.MustCompile(`<title>root [^/]*</title><rect x="0.0" y="(\d+)"`)
	height := regexp.MustCompile(`^<svg [^>]*height="(\d+)"`)
	for link, atTop := range map[string]bool{"": true, "?layout=icicle": true, "?layout=flame": false} {
		_, page := s.get(t, "/view/s/samples/top"+link)
		_, image := s.follow(t, s.url+"/view/s/samples/top"+link, linksOf(string(page))["SVG"])
		y, high := root.FindStringSubmatch(image), height.FindStringSubmatch(image)
		require.NotNil(t, y, image)
		require.NotNil(t, high, image)
		below, err := strconv.Atoi(y[1])
		require.NoError(t, err)
		all, err := strconv.Atoi(high[1])
		require.NoError(t, err)
		assert.Equal(t, atTop, below < all/2, "%q: the root is at %d of %d", link, below, all)
	}
	response, _ = s.get(t, "/svg/s/samples?layout=up")
	assert.Equal(t, http.StatusBadRequest, response.StatusCode)
}

// The scripts are small, and browsers cache them.
func TestServerScripts(t *testing.T) {
	s := newServing(t, nil)
	for _, path := range []string{"/static/timeline.js", "/static/flamegraph.js"} {
		response, body := s.get(t, path)
		require.Equal(t, http.StatusOK, response.StatusCode)
		assert.Equal(t, "text/javascript; charset=utf-8", response.Header.Get("Content-Type"))
		assert.Contains(t, string(body), "SPDX-License-Identifier")
		response, _ = s.get(t, path, "If-None-Match", response.Header.Get("ETag"))
		assert.Equal(t, http.StatusNotModified, response.StatusCode)
		response, _ = s.get(t, path+"?x=y")
		assert.Equal(t, http.StatusBadRequest, response.StatusCode)
	}
}

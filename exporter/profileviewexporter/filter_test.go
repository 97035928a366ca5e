// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// servicesOf returns the services on the list, in its order.
func servicesOf(page string) (services []string) {
	for _, match := range regexp.MustCompile(`<td class="service">([^<]*)</td>`).FindAllStringSubmatch(page, -1) {
		services = append(services, match[1])
	}
	return services
}

func TestServerListFilters(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.PathPrefix = "/p" })
	for i, service := range []string{"cart", "checkout", "search"} {
		for j := range i + 1 {
			s.post(t, made(t, time.Now(), []string{"samples"}, int64(j+1)), map[string]any{"service.name": service, "k8s.pod.name": service + "-pod"})
		}
	}
	for query, want := range map[string][]string{
		"":                                      {"cart", "checkout", "search"},
		"?q=C":                                  {"cart", "checkout", "search"},
		"?q=check":                              {"checkout"},
		"?q=none":                               nil,
		"?sort=profiles":                        {"search", "checkout", "cart"},
		"?sort=service&from=all":                {"cart", "checkout", "search"},
		"?resource.k8s.pod.name=cart-pod":       {"cart"},
		"?resource.k8s.pod.name=&q=":            {"cart", "checkout", "search"},
		"?sort=last&refresh=10s&q=ca":           {"cart"},
		"?resource.nowhere=x":                   nil,
		"?sort=size&resource.service.name=cart": {"cart"},
	} {
		response, body := s.get(t, "/"+query)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", query, body)
		assert.Equal(t, want, servicesOf(string(body)), query)
		assert.Equal(t, strings.Contains(query, "refresh=10s"), strings.Contains(string(body), `<meta http-equiv="refresh" content="10">`), query)
		assert.NotContains(t, string(body), "<script")
	}
	for _, query := range []string{"?sort=colour", "?refresh=1s", "?refresh=x", "?srt=size"} {
		response, _ := s.get(t, "/"+query)
		assert.Equal(t, http.StatusBadRequest, response.StatusCode, query)
	}
	_, body := s.get(t, "/?q=c&resource.k8s.pod.name=cart-pod&from=-1h&resource.other=&sort=size")
	page := string(body)
	assert.Contains(t, page, `<option value="cart-pod" selected>cart-pod</option>`)
	assert.Contains(t, page, `<option value="search-pod">search-pod</option>`)
	assert.Contains(t, page, `<input type="hidden" name="from" value="-1h">`)
	assert.Contains(t, page, `aria-sort="descending"`)
	links := linksOf(page)
	assert.Equal(t, "view/cart/samples/flamegraph?from=-1h&resource.k8s.pod.name=cart-pod&resource.other=", links["Flame graph"])
	for _, name := range []string{"Type", "last 5 min", "Refresh", "Flame graph", "Top", "Peek", "pprof", "JSON"} {
		response, _ := s.follow(t, s.url+"/?q=c&resource.k8s.pod.name=cart-pod&from=-1h", links[name])
		assert.Equal(t, http.StatusOK, response.StatusCode, name)
	}
	_, body = s.get(t, "/?q=none")
	assert.Contains(t, string(body), "There are 6 profiles in memory")
}

// The list for programs has the same series in the same order.
func TestServerListAsJSON(t *testing.T) {
	s := newServing(t, nil)
	for i, service := range []string{"cart", "checkout-a", "checkout-b"} {
		for j := range i + 1 {
			s.post(t, made(t, time.Now(), []string{"samples"}, int64(j+1)), map[string]any{"service.name": service})
		}
	}
	const path = "/?q=check&sort=profiles&refresh=10s&after_service=a&after_type=b"
	_, body := s.get(t, path)
	response, list := s.follow(t, s.url+path, linksOf(string(body))["JSON"])
	require.Equal(t, http.StatusOK, response.StatusCode, list)
	assert.Equal(t, "from=-15m&q=check&sort=profiles", response.Request.URL.RawQuery)
	var all []recent.Series
	require.NoError(t, json.Unmarshal([]byte(list), &all))
	require.Len(t, all, 2)
	assert.Equal(t, []string{"checkout-b", "checkout-a"}, []string{all[0].Service, all[1].Service})
}

// Names from senders are escaped in the form too.
func TestServerListFiltersHostileNames(t *testing.T) {
	s := newServing(t, nil)
	const evil = `"><script>alert(1)</script>`
	for _, value := range []string{evil, "b"} {
		s.post(t, made(t, time.Now(), []string{"samples"}, 1), map[string]any{"service.name": "s", evil: value})
	}
	for _, path := range []string{"/", "/?q=%22%3E%3Cscript%3E&refresh=10s", "/?resource.%22%3E%3Cscript%3E=%22%3E%3Cscript%3E", "/view/s/samples/top?resource.%22%3E%3Cscript%3E="} {
		response, body := s.get(t, path)
		require.Equal(t, http.StatusOK, response.StatusCode, path)
		assert.NotContains(t, string(body), "<script>alert", path)
		assert.NotContains(t, string(body), `"><script`, path)
	}
}

func TestSpark(t *testing.T) {
	assert.Empty(t, spark(&recent.Arrivals{}))
	assert.Equal(t, "M0 10h2v10h-2zM117 0h2v20h-2z", spark(&recent.Arrivals{0: 1, 39: 2}))
	assert.Equal(t, "M0 18h2v2h-2zM3 0h2v20h-2z", spark(&recent.Arrivals{0: 1, 1: 4_000_000_000}), "one is seen beside many")
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/selector"
)

// Attributes and labels are selected or excluded, by a text or by an expression, with the same total in every format.
func TestServerSelectors(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, labelled(t, 1), map[string]any{"service.name": "s", "pod": "web-a"})
	s.post(t, labelled(t, 2), map[string]any{"service.name": "s", "pod": "web-b"})
	s.post(t, labelled(t, 4), map[string]any{"service.name": "s"})
	for query, want := range map[string]int64{
		"resource.pod!=web-a":                       666,
		"resource.pod~=web-.*":                      333,
		"resource.pod~=web":                         0, // all of the value
		"resource.pod!~=web-[b-z]":                  555,
		"resource.pod!~=.*":                         0,
		"resource.pod~=":                            777,
		"resource.pod~=.%2B":                        333, // where it is
		"resource.pod~=.*":                          777, // also where it is not, as in other selectors
		"resource.pod!=web-a&resource.pod!=web-b":   444,
		"resource.pod!=web-a&resource.pod~=web-.":   222,
		"resource.pod=web-a&resource.pod=web-b":     0,
		"label.region!=eu":                          770,
		"label.region~=e.|x":                        7,
		"label.region!~=e.":                         770,
		"label.region!~=e.&label.size=4096":         70,
		"label.size~=40.*":                          70,
		"label.size!~=40.*":                         707,
		"label.region!=eu&resource.pod!~=web-.*":    440,
		"resource.pod=web-a&label.region!~=(eu|us)": 110,
	} {
		status := http.StatusOK
		if want == 0 {
			status = http.StatusNotFound
		}
		response, body := s.get(t, "/profiles/s/samples?"+query)
		require.Equal(t, status, response.StatusCode, "%s: %s", query, body)
		if want == 0 {
			continue
		}
		assert.Equal(t, []int64{want}, totals(t, body), query)
		for _, page := range []string{"flamegraph", "both", "top", "peek", "labels", "functions", "compare"} {
			response, body = s.get(t, "/view/s/samples/"+page+"?"+query)
			require.Equal(t, http.StatusOK, response.StatusCode, "%s of %s: %s", query, page, body)
			assert.Contains(t, string(body), fmt.Sprintf(`<span class="merged">%d samples, `, want), "%s of %s", query, page)
		}
		_, body = s.get(t, "/collapsed/s/samples?"+query)
		assert.Equal(t, fmt.Sprintf("main.work %d\n", want), string(body), query)
		_, body = s.get(t, "/speedscope/s/samples?"+query)
		var file struct{ Profiles []struct{ EndValue int64 } }
		require.NoError(t, json.Unmarshal(body, &file), query)
		assert.Equal(t, want, file.Profiles[0].EndValue, query)
	}
	response, body := s.get(t, "/view/s/samples/top?resource.pod~=web-.&base_resource.pod!~=web-.*&base_label.region!=eu")
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	assert.Contains(t, string(body), "<strong>333</strong>")
	assert.Contains(t, string(body), "compared with <strong>440</strong>")
}

// Each condition links to the page that excludes it, and back.
func TestServerOpposites(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, labelled(t, 1), map[string]any{"service.name": "s", "pod": "web-a"})
	s.post(t, labelled(t, 2), map[string]any{"service.name": "s", "pod": "web-b"})
	totalOf := func(page string) int64 {
		match := regexp.MustCompile(`<span class="merged">(\d+) samples, `).FindStringSubmatch(page)
		require.NotNil(t, match)
		total, err := strconv.ParseInt(match[1], 10, 64)
		require.NoError(t, err)
		return total
	}
	for _, query := range []string{"resource.pod=web-a", "resource.pod~=.*b", "label.region=eu", "label.region~=e.|x"} {
		path := "/view/s/samples/functions?from=all&" + query
		_, page := s.get(t, path)
		response, excluded := s.follow(t, s.url+path, linksOf(string(page))["exclude"])
		require.Equal(t, http.StatusOK, response.StatusCode, excluded)
		assert.Equal(t, int64(333), totalOf(string(page))+totalOf(excluded), query)
		response, included := s.follow(t, response.Request.URL.String(), linksOf(excluded)["include"])
		require.Equal(t, http.StatusOK, response.StatusCode, included)
		assert.Equal(t, totalOf(string(page)), totalOf(included), query)
		_, all := s.follow(t, response.Request.URL.String(), linksOf(included)["any"])
		assert.Equal(t, int64(333), totalOf(all), query)
	}
}

// An expression that is invalid, too expensive or one too many is refused with the name of its parameter, on every page.
func TestServerBadSelectors(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, labelled(t, 1), map[string]any{"service.name": "s", "pod": "a"})
	many := make(url.Values)
	for i := range maxExpressions + 1 {
		many.Set(fmt.Sprintf("resource.k%d~", i), "x")
	}
	for _, path := range []string{
		"/profiles/s/samples", "/collapsed/s/samples", "/speedscope/s/samples", "/svg/s/samples", "/pgo/s", "/view/s/samples/both", "/view/s/samples/top",
		"/view/s/samples/compare", "/view/s/samples/labels", "/", "/profiles", "/trace/" + traceA,
	} {
		for query, want := range map[string]string{
			"resource.pod~=(":                            `"resource.pod~": cannot read the regular expression "(": error parsing regexp: missing closing )`,
			"resource.pod!~=a)|(b":                       `"resource.pod!~": cannot read the regular expression`,
			"resource.pod~=(a{100}){100}":                `"resource.pod~": cannot read the regular expression "(a{100}){100}": error parsing regexp: invalid repeat count`,
			"resource.pod~=(abcd{30}){30}":               `"resource.pod~": the regular expression "(abcd{30}){30}" has more than 500 steps`,
			"resource.pod~=" + strings.Repeat("a?", 600): `"resource.pod~": the regular expression has 1200 bytes, at most 1024 are taken`,
			many.Encode():                                "9 parameters resource.<key> are regular expressions, the limit is 8",
			"resource.~=x":                               `"resource.~"`,
		} {
			response, body := s.get(t, path+"?"+query)
			assert.Equal(t, http.StatusBadRequest, response.StatusCode, "%s?%s", path, query)
			assert.Contains(t, string(body), want, path)
		}
	}
	for _, query := range []string{"label.region~=(", "base_label.region~=(", "base_resource.pod!~=("} {
		response, body := s.get(t, "/view/s/samples/top?"+query)
		assert.Equal(t, http.StatusBadRequest, response.StatusCode, query)
		name, _, _ := strings.Cut(query, "=")
		assert.Contains(t, string(body), fmt.Sprintf("%q: cannot read", name))
	}
}

// The list, its forms and the bar of pages know the operators, and link to the page without each condition.
func TestServerSelectorsOnPages(t *testing.T) {
	s := newServing(t, nil)
	for _, service := range []string{"cart", "checkout", "search"} {
		s.post(t, made(t, time.Now(), []string{"samples"}, 1), map[string]any{"service.name": service, "pod": service + "-1"})
	}
	for query, want := range map[string][]string{
		"?resource.pod~=c.*": {"cart", "checkout"}, "?resource.pod!~=c.*": {"search"}, "?resource.pod!=cart-1": {"checkout", "search"},
		"?resource.pod!=cart-1&resource.pod~=c.*": {"checkout"}, "?resource.pod~=none": nil,
	} {
		response, body := s.get(t, "/"+query)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
		assert.Equal(t, want, servicesOf(string(body)), query)
	}
	_, body := s.get(t, "/?resource.pod~=c.*&resource.pod!=cart-1")
	assert.Contains(t, string(body), `<input name="resource.pod~" value="c.*" placeholder="or expression" size="12" aria-label="pod: regular expression">`)
	assert.Contains(t, string(body), `<input type="hidden" name="resource.pod!" value="cart-1">`)

	s.post(t, made(t, time.Now(), []string{"samples"}, 2), map[string]any{"service.name": "cart", "pod": "<b>"})
	const path = "/view/cart/samples/functions?from=-15m&resource.pod!~=a%7Cb&resource.pod!=%3Cb%3E"
	_, body = s.get(t, path)
	page := string(body)
	assert.Contains(t, page, "pod !~ a|b <a")
	assert.Contains(t, page, "pod != &lt;b&gt; <a")
	assert.Contains(t, page, `aria-label="Without pod != &lt;b&gt;"`)
	assert.Contains(t, page, `<input name="resource.pod~"`)
	assert.Contains(t, page, `<input type="hidden" name="resource.pod!~" value="a|b">`)
	assert.Contains(t, page, ">1 samples, ")
	const twice = "/view/cart/samples/functions?resource.pod!=a&resource.pod!=b"
	_, other := s.get(t, twice)
	assert.Equal(t, 3, strings.Count(string(other), `<input type="hidden" name="resource.pod!" value="b">`), "each form keeps both")
	assert.Contains(t, string(other), `pod != a <a href="?resource.pod%21=b"`)

	_, other = s.get(t, "/view/cart/samples/functions?resource.pod~=c.*&resource.pod~=.*1")
	assert.Contains(t, string(other), `<input name="resource.pod~" value="c.*"`)
	assert.Equal(t, 3, strings.Count(string(other), `<input type="hidden" name="resource.pod~" value=".*1">`), "a field has one value, but all must match")
	assert.Equal(t, 2, strings.Count(string(other), `<input type="hidden" name="resource.pod~" value="c.*">`), "of the forms without that field")

	response, page := s.follow(t, s.url+path, "functions?from=-15m&resource.pod%21~=a%7Cb")
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, page, ">3 samples, ")
	for _, name := range []string{"pprof", "collapsed", "SVG", "speedscope", "Flame graph", "Labels", "last 5 min"} {
		response, _ := s.follow(t, s.url+path, linksOf(string(body))[name])
		assert.Equal(t, http.StatusOK, response.StatusCode, name)
		assert.Equal(t, "a|b", response.Request.URL.Query().Get("resource.pod!~"), name)
	}
}

// A request reserves the memory of its expressions before it selects profiles by their attributes.
func TestExpressionsAreReserved(t *testing.T) {
	d := newHolding(t, 1<<20)
	require.True(t, d.store.Add(held(t, hostile(10, 10, 10, 10, 0, 1), "a")))
	for _, path := range []string{
		"/", "/profiles", "/profiles/s/samples", "/pgo/s", "/collapsed/s/samples", "/view/s/samples/top", "/view/s/samples/labels", "/trace/" + traceA,
	} {
		d.pages.budget = memory.New(64<<20, 0)
		others, err := d.pages.budget.Reserve(t.Context(), 0)
		require.NoError(t, err)
		others.Accept() // else it gets only a part of the budget
		require.NoError(t, others.Grow(t.Context(), d.pages.budget.Size()-2*selector.Bytes))
		answer := func(query string) int {
			w := httptest.NewRecorder()
			d.pages.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path+query, http.NoBody))
			return w.Code
		}
		// No profile has such an attribute: only the selection needs memory.
		assert.Equal(t, http.StatusServiceUnavailable, answer("?resource.a~=x&resource.b!~=a&resource.c~=x"), path)
		others.Release()
		assert.Less(t, answer("?resource.a~=x&resource.b!~=a&resource.c~=x"), http.StatusInternalServerError, path)
		used, peak := d.pages.budget.Used()
		assert.Zero(t, used, path)
		assert.GreaterOrEqual(t, peak, int64(3*selector.Bytes), path)
	}
}

// All parts of an answer share the selectors of a request, since each selector compiles its expression once.
func TestSelectorsAreShared(t *testing.T) {
	d := newHolding(t, 1<<20)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?resource.pod~=x&base_resource.pod~=y", http.NoBody)
	r, held, err := d.pages.selecting(r, viewParameters)
	require.NoError(t, err)
	defer held.Release()
	own, base := attributesOf(r, ""), attributesOf(r, basePrefix)
	require.Len(t, own, 1)
	require.Len(t, base, 1)
	assert.Equal(t, "x", own[0].Text)
	assert.Equal(t, "y", base[0].Text)
	query, err := d.pages.query(r, "samples", "")
	require.NoError(t, err)
	assert.Same(t, &own[0], &query.Attributes[0])
}

// Requests with regular expressions of attributes count towards max_concurrent_requests, since they are expensive.
func TestExpressionsNeedAPlace(t *testing.T) {
	d := newHolding(t, 1<<20)
	d.cfg.ConcurrencyWait = 0
	require.True(t, d.store.Add(held(t, hostile(10, 10, 10, 10, 0, 1), "a")))
	answer := func(path string) int {
		w := httptest.NewRecorder()
		d.pages.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		return w.Code
	}
	for _, path := range []string{"/", "/profiles", "/profiles/s/samples", "/view/s/samples/functions"} {
		for range d.cfg.MaxConcurrentRequests {
			d.pages.merging <- struct{}{}
		}
		assert.Equal(t, http.StatusServiceUnavailable, answer(path+"?resource.pod~=a"), path)
		for range d.cfg.MaxConcurrentRequests {
			<-d.pages.merging
		}
		assert.Equal(t, http.StatusOK, answer(path+"?resource.pod~=a"), path)
		assert.Empty(t, d.pages.merging)
	}
	for range d.cfg.MaxConcurrentRequests {
		d.pages.merging <- struct{}{}
	}
	assert.Equal(t, http.StatusOK, answer("/?resource.pod=a"), "a text is cheap")
}

// Expressions that take too many steps are refused on every page.
func TestExpensiveExpressions(t *testing.T) {
	d := newHolding(t, 1<<24)
	one := hostile(1, 1, 1, 1, 0, 1)
	for i := range d.cfg.MaxProfilesPerSeries {
		require.True(t, d.store.Add(held(t, one, strings.Repeat("x", 400)+strconv.Itoa(i))))
	}
	query := "?from=all&resource.pod!~=" + strings.Repeat("y", 450) + "&resource.pod!~=" + strings.Repeat("z", 450) + "&resource.zone=none"
	for _, path := range []string{"/", "/profiles", "/profiles/s/samples", "/pgo/s", "/view/s/samples/functions", "/trace/" + traceA} {
		w := httptest.NewRecorder()
		d.pages.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path+query, http.NoBody))
		assert.Equal(t, http.StatusUnprocessableEntity, w.Code, "%s: %.300s", path, w.Body)
		assert.Contains(t, w.Body.String(), "the regular expressions of attributes or labels are too expensive", path)
	}
}

// The expressions of labels have the same limit.
func TestExpensiveLabels(t *testing.T) {
	d := newHolding(t, 1<<24)
	p := hostile(3000, 1, 10, 10, 1, 1)
	for i, sample := range p.Sample {
		sample.Label["k0"] = []string{strings.Repeat("x", 400) + strconv.Itoa(i)}
		sample.Label["trace_id"] = []string{traceA}
	}
	require.True(t, d.store.Add(held(t, p, "a")))
	query := "?from=all&label.k0!~=" + strings.Repeat("y", 450)
	for _, path := range []string{"/profiles/s/samples", "/collapsed/s/samples", "/pgo/s", "/view/s/samples/functions", "/view/s/samples/labels", "/trace/" + traceA} {
		w := httptest.NewRecorder()
		d.pages.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path+query, http.NoBody))
		assert.Equal(t, http.StatusUnprocessableEntity, w.Code, "%s: %.300s", path, w.Body)
		assert.Contains(t, w.Body.String(), "the regular expressions of attributes or labels are too expensive", path)
	}
}

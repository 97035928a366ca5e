// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
)

// A link compares with the time before. The legend has the totals of both sides.
func TestServerCompares(t *testing.T) {
	s := newServing(t, nil)
	now := time.Now()
	s.post(t, made(t, now.Add(-8*time.Minute), []string{"samples"}, 40), map[string]any{"service.name": "s"})
	s.post(t, made(t, now.Add(-time.Minute), []string{"samples"}, 30), map[string]any{"service.name": "s"})
	path := "/view/s/samples/flamegraph?from=all"
	_, body := s.get(t, path)
	link := linksOf(string(body))["Compare with the 5 min before"]
	require.NotEmpty(t, link)
	response, page := s.follow(t, s.url+path, link)
	require.Equal(t, http.StatusOK, response.StatusCode, page)
	assert.Contains(t, page, "<title>Difference: s samples, last 5 min – profiles</title>")
	legend := regexp.MustCompile(`(?s)<section id="legend" aria-label="Comparison">.*?</section>`).FindString(page)
	for _, want := range []string{"<strong>30</strong>", "<strong>40</strong>", `<strong class="less">-10 (-25.0 %)</strong>`, "more than before", "less than before"} {
		assert.Contains(t, legend, want)
	}
	response, page = s.follow(t, response.Request.URL.String(), linksOf(page)["Without comparison"])
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.NotContains(t, page, `<section id="legend"`)
	_, page = s.follow(t, s.url+path, strings.Replace(link, "flamegraph", "top", 1))
	assert.Contains(t, page, "<strong>40</strong>")
}

// After a comparison with the time before, the links to other times show the profile without a comparison. Links of a comparison
// with another profile keep it.
func TestServerTimesOfComparisons(t *testing.T) {
	s := newServing(t, nil)
	for _, pod := range []string{"p", "q"} {
		for _, age := range []time.Duration{8 * time.Minute, time.Minute} {
			s.post(t, made(t, time.Now().Add(-age), []string{"samples"}, 1), map[string]any{"service.name": "s", "pod": pod})
		}
	}
	const path = "/view/s/samples/flamegraph?from=-15m&resource.pod=p"
	_, body := s.get(t, "/view/s/samples/flamegraph?from=all&resource.pod=p")
	response, page := s.follow(t, s.url+path, linksOf(string(body))["Compare with the 5 min before"])
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "p", response.Request.URL.Query().Get("base_resource.pod"))
	response, page = s.follow(t, s.url+path, linksOf(page)["last 15 min"])
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "from=-15m&resource.pod=p", response.Request.URL.RawQuery)
	assert.Contains(t, page, "2 profiles, ")
	for _, base := range []string{"&base_resource.pod=q", "&base_resource.pod!=p", "&base_label.region!=eu", "&resource.node!=n&base_resource.pod=p"} {
		_, body := s.get(t, path+base)
		response, _ := s.follow(t, s.url+path, linksOf(string(body))["last hour"])
		require.Equal(t, http.StatusOK, response.StatusCode, base)
		assert.Equal(t, "-1h", response.Request.URL.Query().Get("base_from"), base)
	}
}

// A form compares with another service. Its empty fields have no effect.
func TestServerComparesByForm(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, made(t, time.Now(), []string{"samples"}, 40), map[string]any{"service.name": "a"})
	s.post(t, made(t, time.Now(), []string{"samples"}, 50), map[string]any{"service.name": "b"})
	_, body := s.get(t, "/view/b/samples/top?from=-15m&f=main")
	page := string(body)
	for _, want := range []string{
		`<input name="base_service" value="" placeholder="b">`, `<input name="base_type" value="" placeholder="samples">`,
		`<input name="base_from" value="-15m"`, `<input name="base_until" value=""`, `<input type="hidden" name="from" value="-15m">`,
	} {
		assert.Contains(t, page, want)
	}
	const empty = "&base_type=&base_from=&base_until="
	response, body := s.get(t, "/view/b/samples/top?from=-15m&f=main&base_service=a"+empty)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	assert.Contains(t, string(body), "compared with <strong>40</strong> (a: 1 profile, ")
	assert.Contains(t, html.UnescapeString(string(body)), "+10 (+25.0 %)")
	assert.Contains(t, string(body), `value="a" placeholder="b"`)
	_, body = s.get(t, "/view/b/samples/top?from=-15m&base_service="+empty)
	assert.NotContains(t, string(body), `<section id="legend"`)
	response, _ = s.get(t, "/diff/b/samples?base_service="+empty)
	assert.Equal(t, http.StatusBadRequest, response.StatusCode)
}

// comparisonOf returns the fields of the form that compares.
func comparisonOf(page string) url.Values {
	_, form, _ := strings.Cut(page, "<summary>Compare</summary>")
	form, _, _ = strings.Cut(form, "</form>")
	fields := url.Values{}
	for _, match := range regexp.MustCompile(`<input (?:type="hidden" )?name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
		if match[2] != "" {
			fields.Add(html.UnescapeString(match[1]), html.UnescapeString(match[2]))
		}
	}
	return fields
}

// The form compares the same resources and labels at the same time, except for what the user changes.
func TestServerComparesTheSameByForm(t *testing.T) {
	s := newServing(t, nil)
	old := deliverytest.Parsed(t, labelled(t, 3))
	old.TimeNanos = time.Now().Add(-8 * time.Minute).UnixNano()
	s.post(t, written(t, old), map[string]any{"service.name": "s", "pod": "a"})
	for _, pod := range []string{"a", "b", "c"} {
		s.post(t, labelled(t, 1), map[string]any{"service.name": "s", "pod": pod})
	}
	const path = "/view/s/samples/flamegraph"
	_, body := s.get(t, path+"?from=-5m&label.region=eu&resource.pod!=b&resource.pod!=c&f=main")
	assert.Contains(t, string(body), `region = <input name="base_label.region" value="eu"`, "the user can change it")
	fields := comparisonOf(string(body))
	assert.Equal(t, "-5m", fields.Get("base_from"))
	fields.Set("base_from", "-10m")
	fields.Set("base_until", "-5m")
	response, body := s.get(t, path+"?"+fields.Encode())
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	legend := regexp.MustCompile(`(?s)<section id="legend".*?</section>`).FindString(string(body))
	assert.Contains(t, legend, "<strong>1</strong> (1 profile, ", "now")
	assert.Contains(t, legend, "<strong>3</strong> (1 profile, ", "before")
	assert.Equal(t, fields, comparisonOf(string(body)), "a second submission changes nothing")

	for query, want := range map[string]url.Values{
		"?until=-1s&from=all": {"base_from": {"all"}, "base_until": {"-1s"}}, "?window=15m": {"base_window": {"15m"}}, "?seconds=900": {"base_window": {"900s"}},
	} {
		_, body := s.get(t, path+query)
		fields := comparisonOf(string(body))
		for name, list := range want {
			assert.Equal(t, list, fields[name], query)
		}
		fields.Set("base_label.region", "eu")
		response, body := s.get(t, path+"?"+fields.Encode())
		require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", query, body)
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
)

// labelled returns a profile with samples of two regions, one of them with a number, and one without labels. The values are 1,
// 10 and 100, times a factor.
func labelled(t *testing.T, factor int64) []byte {
	t.Helper()
	p := deliverytest.Parsed(t, made(t, time.Now(), []string{"samples"}, factor))
	location := p.Sample[0].Location
	p.Sample[0].Label = map[string][]string{"region": {"eu"}}
	p.Sample = append(p.Sample,
		&profile.Sample{
			Location: location, Value: []int64{10 * factor}, Label: map[string][]string{"region": {"us <&>"}},
			NumLabel: map[string][]int64{"size": {4096}}, NumUnit: map[string][]string{"size": {"bytes"}},
		},
		&profile.Sample{Location: location, Value: []int64{100 * factor}},
	)
	return written(t, p)
}

// The same filter gives the same total in every format.
func TestServerFilters(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, labelled(t, 1), map[string]any{"service.name": "s", "pod": "a"})
	s.post(t, labelled(t, 2), map[string]any{"service.name": "s", "pod": "b"})
	for query, want := range map[string]int64{
		"":                           333,
		"?label.region=eu":           3,
		"?label.region=us+%3C%26%3E": 30,
		"?label.size=4096":           30,
		"?label.size=4096&label.region=us+%3C%26%3E": 30,
		"?resource.pod=b":                 222,
		"?resource.pod=b&label.region=eu": 2,
		"?label.region=&resource.pod=":    333,
	} {
		response, body := s.get(t, "/profiles/s/samples"+query)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", query, body)
		assert.Equal(t, []int64{want}, totals(t, body), query)
		for _, page := range []string{"flamegraph", "top", "peek", "labels"} {
			response, body = s.get(t, "/view/s/samples/"+page+query)
			require.Equal(t, http.StatusOK, response.StatusCode, "%s of %s: %s", query, page, body)
			assert.Contains(t, string(body), fmt.Sprintf(`<span class="merged">%d samples, `, want), "%s of %s", query, page)
			if page == "flamegraph" {
				assert.Contains(t, string(body), fmt.Sprintf(`"Total":%d,`, want), query)
			}
		}
		_, body = s.get(t, "/collapsed/s/samples"+query)
		assert.Equal(t, fmt.Sprintf("main.work %d\n", want), string(body), query)
		_, body = s.get(t, "/speedscope/s/samples"+query)
		var file struct{ Profiles []struct{ EndValue int64 } }
		require.NoError(t, json.Unmarshal(body, &file), query)
		assert.Equal(t, want, file.Profiles[0].EndValue, query)
	}
	for path, want := range map[string]int{
		"/profiles/s/samples?label.region=none": 404, "/view/s/samples/top?label.none=x": 404, "/collapsed/s/samples?label.size=4097": 404,
		"/profiles/s/samples?label.=x": 400, "/?label.region=eu": 400, "/profiles?label.region=eu": 400,
		"/view/s/samples/top?labels.region=eu": 400, "/profiles/s/samples?base_label.region=eu": 400,
		"/view/s/samples/labels?by=region": 400, "/view/s/samples/labels?by=label.": 400, "/view/s/samples/labels?f=main": 400,
		"/view/s/samples/top?by=label.region": 400, "/view/s/samples/labels?si=none": 400,
	} {
		response, body := s.get(t, path)
		assert.Equal(t, want, response.StatusCode, "%s: %s", path, body)
	}
	many := url.Values{}
	for i := range maxSelectors + 1 {
		many.Set(labelPrefix+strconv.Itoa(i), "x")
	}
	response, _ := s.get(t, "/profiles/s/samples?"+many.Encode())
	assert.Equal(t, http.StatusBadRequest, response.StatusCode)
}

// The bar offers the labels with their totals, including the selected label.
func TestServerOffersLabels(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, labelled(t, 1), map[string]any{"service.name": "s"})
	_, body := s.get(t, "/view/s/samples/flamegraph?from=-15m&label.region=eu")
	bar := regexp.MustCompile(`(?s)<nav id="profiles".*?</nav>`).FindString(string(body))
	assert.Contains(t, bar, `<select name="label.region"><option value="">any</option><option value="us &lt;&amp;&gt;">us &lt;&amp;&gt; (10, 1 samples)</option>`+
		`<option value="eu" selected>eu (1, 1 samples)</option></select>`)
	assert.Contains(t, bar, `<input type="hidden" name="from" value="-15m"><button>Apply</button>`)
	assert.Contains(t, bar, "region = eu")
	assert.NotContains(t, bar, `name="label.size"`, "the selected samples do not have this label")
	links := linksOf(bar)
	assert.Equal(t, "labels?from=-15m&label.region=eu", links["Labels"])
	assert.Contains(t, links["pprof"], "label.region=eu")
	assert.Contains(t, links["last hour"], "label.region=eu")
	_, body = s.get(t, "/view/s/samples/top?label.region=eu&label.size=")
	assert.Contains(t, string(body), "region = eu")
	response, _ := s.get(t, "/trace/"+traceA+"?label.region=eu")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
}

// The page of labels has the totals of values, with links to their flame graphs.
func TestServerLabels(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, labelled(t, 1), map[string]any{"service.name": "s", "pod": "a"})
	s.post(t, labelled(t, 2), map[string]any{"service.name": "s", "pod": "b"})
	s.post(t, made(t, time.Now(), []string{"samples"}, 5), map[string]any{"service.name": "s"})
	row := func(page, value string) string {
		return regexp.MustCompile(`<tr><td>(?:<a [^>]*>)?` + regexp.QuoteMeta(value) + `(?:</a>)?</td>.*</tr>`).FindString(page)
	}
	const path = "/view/s/samples/labels?from=-15m"
	response, body := s.get(t, path)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	assert.Equal(t, policyOwn, response.Header.Get("Content-Security-Policy"))
	page := string(body)
	assert.Contains(t, page, "338 samples in 7 samples.")
	assert.Contains(t, row(page, "us &lt;&amp;&gt;"), `<td class="number">30</td><td class="number">8.9 %</td><td class="number">2</td>`)
	assert.Contains(t, row(page, "4096 bytes"), `<td class="number">30</td>`)
	links := linksOf(page)
	_, text := s.follow(t, s.url+path, links["eu"])
	assert.Contains(t, text, `"Total":3,`)
	_, text = s.follow(t, s.url+path, links["4096 bytes"])
	assert.Contains(t, text, `"Total":30,`)
	_, text = s.follow(t, s.url+path, links["region"])
	assert.Contains(t, text, "<h1>By label.region</h1>")
	assert.NotContains(t, text, "4096 bytes") // "4096" alone can be a part of the time or the port
	response, text = s.follow(t, s.url+path, links["pod"])
	require.Equal(t, http.StatusOK, response.StatusCode, text)
	assert.Contains(t, row(text, "b"), `<td class="number">222</td>`)
	assert.Contains(t, row(text, "a"), `<td class="number">111</td>`)
	assert.Contains(t, row(text, "(none)"), `<td class="number">5</td>`)
	at := response.Request.URL.String()
	_, text = s.follow(t, at, linksOf(text)["b"])
	assert.Contains(t, text, `"Total":222,`)
	_, body = s.get(t, path+"&by=label.region&label.region=eu")
	assert.Empty(t, row(string(body), "us &lt;&amp;&gt;"), "only samples that match")
	_, body = s.get(t, path+"&by=resource.none")
	assert.Contains(t, row(string(body), "(none)"), "338")
}

// The page of labels has one side. Its links and its form compare on another page.
func TestServerLabelsDoNotCompare(t *testing.T) {
	s := newServing(t, nil)
	old := deliverytest.Parsed(t, labelled(t, 3))
	old.TimeNanos = time.Now().Add(-8 * time.Minute).UnixNano()
	s.post(t, written(t, old), map[string]any{"service.name": "s", "pod": "a"})
	s.post(t, labelled(t, 1), map[string]any{"service.name": "s", "pod": "a"})
	const path = "/view/s/samples/labels?by=label.region&from=-5m"
	for _, base := range []string{"", "&base_from=-10m&base_until=-5m", "&base_service=none"} {
		response, body := s.get(t, path+base)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", base, body)
		page := string(body)
		assert.Contains(t, page, "<title>s samples, last 5 min – profiles</title>")
		assert.Contains(t, page, "111 samples in 3 samples.")
		links := linksOf(page)
		response, next := s.follow(t, s.url+path, links["eu"])
		require.Equal(t, http.StatusOK, response.StatusCode, next)
		assert.Equal(t, "from=-5m&label.region=eu", response.Request.URL.RawQuery)
		response, next = s.follow(t, s.url+path, links["Compare with the 5 min before"])
		require.Equal(t, http.StatusOK, response.StatusCode, next)
		assert.Contains(t, next, "compared with <strong>333</strong>")
		assert.Contains(t, page, `<form method="get" action="flamegraph">`)
		assert.NotContains(t, comparisonOf(page), "by")
		if base == "" {
			response, next = s.follow(t, s.url+path, "flamegraph?"+comparisonOf(page).Encode())
			require.Equal(t, http.StatusOK, response.StatusCode, next)
			assert.Contains(t, next, "compared with <strong>111</strong>")
		}
	}
}

// Long lists are cut, and the page says how much is left out.
func TestServerManyLabels(t *testing.T) {
	s := newServing(t, nil)
	p := deliverytest.Parsed(t, made(t, time.Now(), []string{"samples"}, 1))
	for i := range 700 {
		sample := *p.Sample[0]
		sample.Label = map[string][]string{"user": {fmt.Sprint("u", i)}, "k" + strconv.Itoa(i%50): {"v", "v", "w"}, "long": {strings.Repeat("x", 5000)}}
		p.Sample = append(p.Sample, &sample)
	}
	s.post(t, written(t, p), map[string]any{"service.name": "s"})
	_, body := s.get(t, "/view/s/samples/labels?by=label.user")
	assert.Contains(t, string(body), "200 other values")
	assert.Equal(t, 500, strings.Count(string(body), "<tr><td>"))
	_, body = s.get(t, "/view/s/samples/labels")
	assert.Equal(t, overviewLimits.Keys, strings.Count(string(body), "<tbody>"))
	assert.Contains(t, string(body), `<td class="number">14</td>`, "a sample counts once")
	_, body = s.get(t, "/view/s/samples/top")
	assert.Contains(t, string(body), "and others")
	assert.Less(t, strings.Count(string(body), "<option"), countLimits.Keys*(countLimits.Values+2))
	assert.NotContains(t, string(body), strings.Repeat("x", 200))
}

// No page shows labels and attributes of another tenant.
func TestServerFiltersOfTenants(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.Tenant.MetadataKey = "x-scope-orgid" })
	for tenant, factor := range map[string]int64{"a": 1, "b": 2} {
		ctx := client.NewContext(t.Context(), client.Info{Metadata: client.NewMetadata(map[string][]string{"X-Scope-OrgID": {tenant}})})
		p := deliverytest.Parsed(t, labelled(t, factor))
		p.Sample[2].Label = map[string][]string{"secret": {"of-" + tenant}, "other": {"x"}}
		for _, pod := range []string{"1", "2"} {
			attributes := map[string]any{"service.name": "s", "pod": "pod-" + tenant + pod}
			require.NoError(t, s.ConsumeProfiles(ctx, deliverytest.Decode(t, written(t, p), attributes)))
		}
	}
	for _, path := range []string{"flamegraph", "top", "peek", "labels", "labels?by=label.secret", "labels?by=resource.pod"} {
		response, body := s.get(t, "/view/s/samples/"+path, "X-Scope-OrgID", "a")
		require.Equal(t, http.StatusOK, response.StatusCode, path)
		assert.Contains(t, string(body), "222", path)
		assert.NotContains(t, string(body), "of-b", path)
		assert.NotContains(t, string(body), "pod-b", path)
	}
	response, _ := s.get(t, "/view/s/samples/top?label.secret=of-b", "X-Scope-OrgID", "a")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
}

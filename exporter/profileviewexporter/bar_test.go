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

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
)

// linksOf returns the links of a page by their text.
func linksOf(page string) map[string]string {
	links := map[string]string{}
	for _, match := range regexp.MustCompile(`<a href="([^"]*)"[^>]*>([^<]*)</a>`).FindAllStringSubmatch(page, -1) {
		links[html.UnescapeString(match[2])] = html.UnescapeString(match[1])
	}
	return links
}

// follow gets a page by a link of another page.
func (s *serving) follow(t *testing.T, from, link string) (*http.Response, string) {
	t.Helper()
	base, err := url.Parse(from)
	require.NoError(t, err)
	target, err := base.Parse(link)
	require.NoError(t, err)
	response, body := s.get(t, strings.TrimPrefix(target.String(), s.url))
	return response, string(body)
}

// Every page says which profiles it shows, and links to others.
func TestServerBar(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.PathPrefix = "/p" })
	now := time.Now().UTC()
	ago := func(age time.Duration) time.Time { return now.Add(-age) }
	for i, age := range []time.Duration{8 * time.Minute, 2 * time.Minute, time.Minute} {
		s.post(t, made(t, ago(age), []string{"samples"}, int64(10*(i+1))), map[string]any{"service.name": "a/b", "pod": "p"})
	}
	s.post(t, made(t, ago(time.Minute), []string{"other"}, 1), map[string]any{"service.name": "a/b"})
	for _, page := range []string{"flamegraph", "both", "top", "peek"} {
		path := "/view/a%2Fb/samples/" + page + "?from=-15m&resource.pod=p&f=main"
		response, body := s.get(t, path)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
		text := string(body)
		assert.Contains(t, text, "<title>a/b samples, last 15 min – profiles</title>", page)
		assert.Contains(t, text, "<strong>a/b</strong>", page)
		assert.Contains(t, text, "3 profiles, "+ago(8*time.Minute).Format(time.DateTime), page)
		assert.Contains(t, text, `<meta name="viewport"`, page)
		assert.NotContains(t, text, `<section id="legend"`, page)
		links := linksOf(text)
		for name, want := range map[string]string{"last 5 min": "2 profiles", "last 15 min": "3 profiles", "all": "3 profiles", "Refresh": "3 profiles"} {
			response, body := s.follow(t, s.url+path, links[name])
			require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", name, body)
			assert.Contains(t, body, want, name)
			assert.Equal(t, "p", response.Request.URL.Query().Get("resource.pod"), "%s keeps the resource", name)
			assert.Equal(t, "main", response.Request.URL.Query().Get("f"), "%s keeps the focus", name)
		}
		response, body2 := s.follow(t, s.url+path, links["All profiles"])
		require.Equal(t, http.StatusOK, response.StatusCode)
		assert.Contains(t, body2, "<h1>Profiles</h1>")
		response, body2 = s.follow(t, s.url+"/view/a%2Fb/samples/"+page+"?from=-15m", links["other"])
		require.Equal(t, http.StatusNotFound, response.StatusCode, body2) // of another pod
	}
	_, body := s.get(t, "/view/a%2Fb/other/top")
	assert.NotContains(t, linksOf(string(body)), "Compare with the 5 min before", "there are no older profiles")
}

// A form of the bar selects resources, and keeps all other parameters.
func TestServerBarChoosesResources(t *testing.T) {
	s := newServing(t, nil)
	const evil = `"><script>alert(1)</script>`
	for i, pod := range []string{"p1", "p2", evil} {
		s.post(t, made(t, time.Now(), []string{"samples"}, int64(i+1)), map[string]any{"service.name": "s", "k8s.pod.name": pod, "same": "x"})
	}
	s.post(t, made(t, time.Now(), []string{"samples"}, 1), map[string]any{"service.name": "other", "k8s.pod.name": "p9"})
	response, body := s.get(t, "/view/s/samples/top?from=-15m&f=main&resource.k8s.pod.name=p1")
	require.Equal(t, http.StatusOK, response.StatusCode)
	bar := regexp.MustCompile(`(?s)<nav id="profiles".*?</nav>`).FindString(string(body))
	assert.Contains(t, bar, `<select name="resource.k8s.pod.name"><option value="">any</option>`)
	assert.Contains(t, bar, `<option value="p1" selected>p1</option><option value="p2">p2</option>`)
	assert.Contains(t, bar, `<input type="hidden" name="f" value="main"><input type="hidden" name="from" value="-15m">`)
	assert.Contains(t, bar, "k8s.pod.name = p1")
	assert.Contains(t, bar, "1 profile, ")
	assert.NotContains(t, bar, "same", "no choice")
	assert.NotContains(t, bar, "p9", "of another service")
	assert.NotContains(t, bar, "<script")
	assert.Contains(t, response.Header.Get("Content-Security-Policy"), "form-action 'self'")
	response, body = s.get(t, "/view/s/samples/top?from=-15m&f=main&resource.k8s.pod.name=")
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, string(body), "3 profiles, ")
}

// A page is sent again if its menus change, also if the profiles that it shows are the same.
func TestServerMenusChangeThePage(t *testing.T) {
	s := newServing(t, nil)
	const path = "/view/s/samples/top?resource.pod=a"
	s.post(t, made(t, time.Now(), []string{"samples"}, 1), map[string]any{"service.name": "s", "pod": "a"})
	response, _ := s.get(t, path)
	for _, pod := range []string{"b", "c"} {
		tag := response.Header.Get("ETag")
		response, _ = s.get(t, path, "If-None-Match", tag)
		require.Equal(t, http.StatusNotModified, response.StatusCode)
		s.post(t, made(t, time.Now(), []string{"samples"}, 1), map[string]any{"service.name": "s", "pod": pod})
		var body []byte
		response, body = s.get(t, path, "If-None-Match", tag)
		require.Equal(t, http.StatusOK, response.StatusCode)
		assert.Contains(t, string(body), "1 profile, ")
		assert.Contains(t, string(body), `<option value="`+pod+`">`)
	}
}

// A title names the time that the page shows.
func TestTimeText(t *testing.T) {
	for query, want := range map[string]string{
		"": "all", "from=all": "all", "from=now": "from now", "from=-15m": "last 15 min", "from=now-15m": "last 15 min", "from=-15m&until=-5m": "from -15m until -5m",
		"from=-7m": "from -7m", "until=now": "until now",
	} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		assert.Equal(t, want, timeText(values), query)
	}
}

func TestAmount(t *testing.T) {
	for want, given := range map[string]struct {
		value int64
		unit  string
	}{
		"1.50 s": {1_500_000_000, "nanoseconds"}, "-2.00 min": {-120, "seconds"}, "12.3 ms": {12_340, "microseconds"}, "999 ns": {999, "nanoseconds"},
		"0 ns": {0, "seconds"}, "3.00 MiB": {3 << 20, "bytes"}, "5 B": {5, "bytes"}, "10.0 KiB": {10, "kilobytes"},
		"1234567": {1234567, "count"}, "7 widgets": {7, "widgets"}, "8": {8, ""},
	} {
		assert.Equal(t, want, amount(given.value, given.unit))
	}
	assert.Equal(t, []string{"+1", "-1", "0"}, []string{signed(1, ""), signed(-1, ""), signed(0, "")})
}

// A profile whose time is far from its arrival is in the last minutes, and the page says so.
func TestServerFarTime(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, made(t, time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), []string{"samples"}, 1), map[string]any{"service.name": "s"})
	_, body := s.get(t, "/")
	assert.Regexp(t, `>\d+ s ago<`, string(body))
	response, body := s.get(t, "/view/s/samples/top?from=-1h")
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, string(body), "1 profile, 2020-01-02 03:04:05 – 03:04:06 UTC")
	assert.Contains(t, string(body), "The times of 1 of 1 profiles are more than 10 minutes from their arrival")
	response, _ = s.get(t, "/profiles/s/samples?until=2020-01-03T00:00:00Z")
	assert.Equal(t, http.StatusOK, response.StatusCode, "absolute times use the time of the profile")
}

// Functions without symbols are named by binary and address, and the page says so.
func TestServerWithoutSymbols(t *testing.T) {
	m := &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x500000, Offset: 0x1000, File: "/usr/bin/native"}
	named := &profile.Function{ID: 1, Name: "main", SystemName: "main"}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}, Mapping: []*profile.Mapping{m}, Function: []*profile.Function{named},
		Location: []*profile.Location{
			{ID: 1, Mapping: m, Address: 0x401234}, {ID: 2, Mapping: m, Address: 0x405678}, {ID: 3, Mapping: m, Address: 0x400010, Line: []profile.Line{{Function: named}}},
		},
	}
	p.Sample = []*profile.Sample{
		{Location: []*profile.Location{p.Location[0], p.Location[2]}, Value: []int64{3}},
		{Location: []*profile.Location{p.Location[1], p.Location[2]}, Value: []int64{4}},
	}
	s := newServing(t, nil)
	s.post(t, written(t, p), map[string]any{"service.name": "s"})
	for _, page := range []string{"flamegraph", "both", "top", "peek"} {
		_, body := s.get(t, "/view/s/samples/"+page)
		text := strings.ReplaceAll(html.UnescapeString(string(body)), `\u002b`, "+")
		assert.Contains(t, text, "native+0x2234", page)
		assert.Contains(t, text, "native+0x6678", page)
		assert.Contains(t, text, "2 of 3 locations have no symbols", page)
	}
	_, body := s.get(t, "/profiles/s/samples")
	assert.Empty(t, deliverytest.Parsed(t, body).Location[0].Line, "the profile is unchanged")
}

// Unknown parameters are refused.
func TestServerUnknownParameters(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, made(t, time.Now(), []string{"samples"}, 1), map[string]any{"service.name": "s"})
	for path, want := range map[string]string{
		"/?frm=-5m":                                `"frm" is not a parameter here, did you mean "from"?`,
		"/profiles?after=x":                        `"after" is not a parameter here, did you mean "after_`,
		"/profiles/s/samples?windw=15m":            `"windw" is not a parameter here, did you mean "window"?`,
		"/profiles/s/samples?base_from=-5m":        `"base_from" is not a parameter here`,
		"/profiles/s/samples?xyz=1":                `"xyz" is not a parameter here, the known ones are from, until`,
		"/pgo/s?dept=5":                            `did you mean "depth"?`,
		"/view/s/samples/top?resources.pod=x":      `did you mean "resource.pod"?`,
		"/view/s/samples/top?base_windw=5m":        `did you mean "base_window"?`,
		"/view/s/samples/top?base_resource.=x":     "is not a parameter here",
		"/view/s/samples/top?focus=main":           `"focus" is not a parameter here`,
		"/view/s/samples/flamegraph?<script>=main": "is not a parameter here",
	} {
		response, body := s.get(t, path)
		assert.Equal(t, http.StatusBadRequest, response.StatusCode, path)
		assert.Contains(t, string(body), want, path)
		response, body = s.get(t, path, "Accept", "text/html")
		assert.Equal(t, http.StatusBadRequest, response.StatusCode, path)
		assert.Contains(t, string(body), "All profiles", path)
		assert.NotContains(t, string(body), "<script", path)
	}
	for _, path := range []string{"/view/s/samples/flamegraph?si=samples&p=main&g=lines&n=5", "/view/s/samples/top?base_resource.pod=&base_from=-1h&trim=f"} {
		response, body := s.get(t, path)
		assert.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", path, body)
	}
}

// A query with a malformed part is refused. An answer without that part would be one about other profiles.
func TestServerMalformedQueries(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.PathPrefix = "/p" })
	s.post(t, made(t, time.Now(), []string{"samples"}, 1), map[string]any{"service.name": "s"})
	for query, want := range map[string]string{
		"?resource.path=/a;b": "invalid semicolon separator", "?from=-15m;until=-5m": "invalid semicolon separator", "?resource.share=100%": "invalid URL escape",
	} {
		for _, path := range []string{"/", "/profiles", "/profiles/s/samples", "/pgo/s", "/svg/s/samples", "/flamegraph/s/samples", "/view/s/samples/top", "/trace/" + traceA} {
			response, body := s.get(t, path+query)
			assert.Equal(t, http.StatusBadRequest, response.StatusCode, path+query)
			assert.Contains(t, string(body), want, path+query)
		}
	}
	const path = "/view/s/samples/top?from=-5m&resource.path=/a;b"
	_, body := s.get(t, path, "Accept", "text/html")
	assert.NotContains(t, string(body), "All times", "it would be about other profiles too")
	response, _ := s.follow(t, s.url+path, linksOf(string(body))["All profiles"])
	assert.Equal(t, http.StatusOK, response.StatusCode)
	response, _ = s.get(t, "/view/s/samples/top?resource.path!=/a%3Bb&resource.share!=100%25")
	assert.Equal(t, http.StatusOK, response.StatusCode)
}

// The error page links to the list, at any path depth.
func TestServerErrorPage(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.PathPrefix = "/p" })
	s.post(t, made(t, time.Now().Add(-time.Minute), []string{"samples"}, 1), map[string]any{"service.name": "a/b"})
	for _, path := range []string{"/view/a%2Fb/samples/top?from=now", "/profiles/none/cpu?from=now", "/?from=x"} {
		response, body := s.get(t, path, "Accept", "text/html,application/xhtml+xml")
		assert.GreaterOrEqual(t, response.StatusCode, 400)
		assert.Equal(t, policyPlain, response.Header.Get("Content-Security-Policy"))
		links := linksOf(string(body))
		response, _ = s.follow(t, s.url+path, links["All profiles"])
		assert.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", path, links["All profiles"])
		assert.Contains(t, links, "All times")
	}
}

// The list begins with the profiles of the last minutes, and links to older ones. It links to PGO only if that returns a
// profile.
func TestServerListsTheLastMinutes(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, written(t, goProgram(0)), map[string]any{"service.name": "flat"})
	s.post(t, written(t, goProgram(1)), map[string]any{"service.name": "hot"})
	_, body := s.get(t, "/")
	assert.Equal(t, 1, strings.Count(string(body), `">PGO</a>`))
	assert.Contains(t, string(body), `href="pgo/hot?from=-15m"`)
	response, _ := s.get(t, "/pgo/hot?from=-15m")
	assert.Equal(t, http.StatusOK, response.StatusCode)
	_, body = s.get(t, "/?until=-5m")
	assert.Contains(t, string(body), "There are 2 profiles in memory")
	_, page := s.follow(t, s.url+"/?until=-5m", linksOf(string(body))["show all"])
	assert.Contains(t, page, "flat")
	_, body = s.get(t, "/profiles?from=now")
	assert.Equal(t, "[]", string(body))
}

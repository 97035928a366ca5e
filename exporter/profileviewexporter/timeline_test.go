// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each bar links to as many profiles as it says, with the same resources and parameters.
func TestServerTimeline(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.PathPrefix = "/p" })
	now := time.Now()
	for i, age := range []time.Duration{9*time.Minute - 30*time.Second, 5 * time.Minute, 5*time.Minute - time.Second, time.Minute, 400 * 24 * time.Hour} {
		s.post(t, made(t, now.Add(-age), []string{"samples"}, int64(i+1)), map[string]any{"service.name": "a/b", "pod": "p"})
	}
	s.post(t, made(t, now.Add(-7*time.Minute), []string{"samples"}, 1), map[string]any{"service.name": "a/b", "pod": "q"})
	const path = "/view/a%2Fb/samples/top?from=-3m&resource.pod=p&f=main&base_from=-9m"
	response, body := s.get(t, path)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	page := string(body)
	bars := regexp.MustCompile(`<a href="([^"]*)" data-bar="\d+"( class="chosen")? aria-label="([^"]*: (\d+) profiles)">`).FindAllStringSubmatch(page, -1)
	require.GreaterOrEqual(t, len(bars), 3)
	require.LessOrEqual(t, len(bars), 8)
	assert.NotEmpty(t, bars[len(bars)-1][2], "the last one is on the page")
	assert.Empty(t, bars[0][2])
	for _, bar := range bars {
		response, text := s.follow(t, s.url+path, html.UnescapeString(bar[1]))
		require.Equal(t, http.StatusOK, response.StatusCode, text)
		number := bar[4] + " profiles, "
		if bar[4] == "1" {
			number = "1 profile, "
		}
		assert.Contains(t, text, number)
		query := response.Request.URL.Query()
		assert.Equal(t, []string{"p", "main", "-9m"}, []string{query.Get("resource.pod"), query.Get("f"), query.Get("base_from")})
	}
	assert.Contains(t, page, `<script src="../../../static/timeline.js" defer></script>`)
	assert.Contains(t, response.Header.Get("Content-Security-Policy"), "script-src 'self'")
	again, _ := s.get(t, path, "If-None-Match", response.Header.Get("ETag"))
	assert.Equal(t, http.StatusNotModified, again.StatusCode, "the answer depends on the profiles, not on the clock")
	script, body := s.get(t, "/static/timeline.js")
	assert.Equal(t, http.StatusOK, script.StatusCode)
	assert.Equal(t, "text/javascript; charset=utf-8", script.Header.Get("Content-Type"))
	assert.Equal(t, timelineScript, body)
	script, _ = s.get(t, "/static/timeline.js?x=1")
	assert.Equal(t, http.StatusBadRequest, script.StatusCode)
	_, body = s.get(t, "/view/a%2Fb/samples/top?f="+strings.Repeat("m", maxTimelineQuery))
	assert.NotContains(t, string(body), `id="timeline"`, "its links would be too long")
}

// No bar is outside the image, even if profiles have long durations.
func TestTimelineCounts(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, made(t, time.Now().Add(-time.Second), []string{"samples"}, 1), map[string]any{"service.name": "s"})
	_, body := s.get(t, "/view/s/samples/labels")
	for _, match := range regexp.MustCompile(`data-bar="(\d+)"`).FindAllStringSubmatch(string(body), -1) {
		bar, err := strconv.Atoi(match[1])
		require.NoError(t, err)
		assert.Less(t, bar, timelineBars)
	}
	assert.Contains(t, string(body), `data-bar="0" class="chosen"`)
}

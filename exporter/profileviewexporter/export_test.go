// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
)

// Downloads have the totals of the profile, in all formats.
func TestServerExports(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.PathPrefix = "/p" })
	payload := deliverytest.OwnProfile(t, "cpu.pb.gz")
	s.post(t, payload, map[string]any{"service.name": "a/b'c"})
	want := totals(t, payload)
	path := "/view/a%2Fb%27c/cpu/top?from=-1h&si=samples"
	_, body := s.get(t, path)
	links := linksOf(string(body))

	response, text := s.follow(t, s.url+path, links["collapsed"])
	require.Equal(t, http.StatusOK, response.StatusCode, text)
	assert.Contains(t, response.Header.Get("Content-Disposition"), "attachment")
	sum := int64(0)
	for line := range strings.Lines(text) {
		number, err := strconv.ParseInt(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]), 10, 64)
		require.NoError(t, err, line)
		sum += number
	}
	assert.Equal(t, want[0], sum, "the total of the shown sample type")

	response, text = s.follow(t, s.url+path, links["speedscope"])
	require.Equal(t, http.StatusOK, response.StatusCode, text)
	var file struct{ Profiles []struct{ EndValue int64 } }
	require.NoError(t, json.Unmarshal([]byte(text), &file))
	require.Len(t, file.Profiles, len(want))
	for i, total := range want {
		assert.Equal(t, total, file.Profiles[i].EndValue)
	}

	_, raw := s.get(t, "/profiles/a%2Fb%27c/cpu?from=-1h")
	assert.Equal(t, want, totals(t, raw))
	assert.Contains(t, string(body), `<a href="../../../profiles/a%2Fb%27c/cpu?from=-1h">pprof</a>`)
	response, _ = s.follow(t, s.url+path, links["PGO"])
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, string(body), "<code>go tool pprof &#39;"+s.url+"/profiles/a%2Fb%27c/cpu?from=-1h&#39;</code>")

	for path, status := range map[string]int{
		"/collapsed/a%2Fb%27c/cpu?si=none": http.StatusBadRequest, "/collapsed/a%2Fb%27c/cpu?f=main": http.StatusBadRequest,
		"/speedscope/a%2Fb%27c/cpu?si=cpu": http.StatusBadRequest, "/speedscope/none/cpu": http.StatusNotFound,
	} {
		response, _ := s.get(t, path)
		assert.Equal(t, status, response.StatusCode, path)
	}
	response, _ = s.get(t, "/collapsed/a%2Fb%27c/cpu", "If-None-Match", "x")
	again, _ := s.get(t, "/collapsed/a%2Fb%27c/cpu", "If-None-Match", response.Header.Get("ETag"))
	assert.Equal(t, http.StatusNotModified, again.StatusCode)
}

// The page has the command only for hosts that a shell does not interpret. It has no link to PGO without a suitable profile.
func TestServerDownloads(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.AllowedHosts = []string{"*"} })
	s.post(t, made(t, time.Now(), []string{"samples"}, 1), map[string]any{"service.name": "s"})
	page := func(host string, header ...string) string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/view/s/samples/top", http.NoBody)
		require.NoError(t, err)
		request.Host = host
		for i := 0; i < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		var text strings.Builder
		require.NoError(t, response.Write(&text))
		return text.String()
	}
	assert.Contains(t, page("[::1]:4041"), "go tool pprof &#39;http://[::1]:4041/profiles/s/samples&#39;")
	assert.Contains(t, page("profiles.example", "X-Forwarded-Proto", "https"), "&#39;https://profiles.example/")
	assert.NotContains(t, page("a'$(id)'"), "go tool pprof")
	assert.NotContains(t, linksOf(page("a")), "PGO")
}

// A text above the limit is refused.
func TestServerExportLimit(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.MaxPageMemory = 100_000 })
	s.post(t, written(t, hostile(80, 20, 10, 1000, 0, 1)), map[string]any{"service.name": "s"})
	response, body := s.get(t, "/collapsed/s/samples")
	assert.Equal(t, http.StatusUnprocessableEntity, response.StatusCode, "%.100s", body)
	assert.Contains(t, string(body), "max_page_memory")
}

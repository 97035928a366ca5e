// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
)

// A request waits only if no place is free.
func TestAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newHolding(t, 1<<20)
		begin := time.Now()
		require.NoError(t, p.acquire(t.Context()), "both places are free")
		require.NoError(t, p.acquire(t.Context()), "one place is free")
		require.Zero(t, time.Since(begin))
		require.ErrorContains(t, p.acquire(t.Context()), "the limit of 2 concurrent requests is reached")
		assert.Equal(t, concurrencyWait, time.Since(begin))
	})
}

// A shutdown ends the contexts of requests before it closes their connections. The client must not take that for an empty answer.
func TestEndedRequestHasNoAnswer(t *testing.T) {
	d := newHolding(t, 1<<20)
	d.budget = memory.New(64<<20, time.Hour)
	others := budgettest.Hold(t, d.budget, 64<<20)
	running, stop := context.WithCancel(t.Context())
	server := httptest.NewUnstartedServer(d.handler())
	server.Config.BaseContext = func(net.Listener) context.Context { return running }
	server.Start()
	defer server.Close()
	ended := make(chan error)
	go func() {
		response, err := server.Client().Get(server.URL + "/plain")
		if err == nil {
			response.Body.Close()
		}
		ended <- err
	}()
	require.Eventually(t, func() bool { return len(d.working) == 1 }, deliverytest.Patience, time.Millisecond)
	stop()
	require.ErrorIs(t, <-ended, io.EOF)
	others.Release()
	used, _ := d.budget.Used()
	assert.Zero(t, used)
	assert.Empty(t, d.working)
}

// A request above the limit of concurrent requests waits until its client leaves.
func TestAcquireWaits(t *testing.T) {
	d := newHolding(t, 1<<20)
	p := d.viewExporter
	p.working, p.wait = make(chan struct{}, 1), deliverytest.Patience
	require.NoError(t, p.acquire(t.Context()))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.acquire(gone), context.Canceled)
	<-p.working
	require.NoError(t, p.acquire(t.Context()))
}

// The memory of an answer is free at once if the work panics.
func TestPanicReleasesMemory(t *testing.T) {
	d := newHolding(t, 1<<20)
	handler := d.admitted(d.handle(working([]string{}, func(*visit) ([]byte, error) { panic("drawing") })))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	assert.PanicsWithValue(t, "drawing", func() { handler.ServeHTTP(httptest.NewRecorder(), r) })
	used, peak := d.budget.Used()
	assert.Zero(t, used)
	assert.EqualValues(t, leastWork, peak)
	assert.Empty(t, d.working)
}

// The page and its files have their policy, their ETags, and are compressed.
func TestPageFiles(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.PathPrefix = "/some/where" })
	page, _ := s.get(t, "?service=a")
	assert.Equal(t, http.StatusOK, page.StatusCode)
	assert.Equal(t, "/some/where/?service=a", page.Request.URL.RequestURI(), "the prefix alone leads to the page")
	for path, contentType := range map[string]string{
		"/": "text/html; charset=utf-8", "/static/style.css": "text/css; charset=utf-8", "/static/page.js": "text/javascript; charset=utf-8",
	} {
		response, body := s.get(t, path)
		require.Equal(t, http.StatusOK, response.StatusCode, path)
		assert.NotEmpty(t, body)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Content-Type": contentType,
			"Content-Security-Policy": pagePolicy, "Access-Control-Allow-Origin": "",
		} {
			assert.Equal(t, want, response.Header.Get(name), "%s of %s", name, path)
		}
		response, again := s.get(t, path, "If-None-Match", response.Header.Get("ETag"))
		assert.Equal(t, http.StatusNotModified, response.StatusCode, path)
		assert.Empty(t, again)
		response, zipped := s.get(t, path, "Accept-Encoding", "gzip")
		assert.Equal(t, "gzip", response.Header.Get("Content-Encoding"))
		assert.Equal(t, []byte{0x1f, 0x8b}, zipped[:2])
	}
	response, _ := s.get(t, "/static/page.go")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
}

// A page of another site can link to pages, but not advance a scraper or load an image.
func TestServerOtherSites(t *testing.T) {
	const allowed = "https://allowed.example"
	s := newServing(t, func(cfg *Config) {
		cfg.HTTP.CORS = configoptional.Some(confighttp.CORSConfig{AllowedOrigins: []string{allowed}})
	})
	s.post(t, made(t, time.Now(), []string{"samples"}, 5), map[string]any{"service.name": "s"})
	const scraped, image = "/profiles/s/samples?scraper=ci", "/static/style.css"
	for _, test := range []struct {
		path   string
		header []string
		want   int
	}{
		{scraped, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, http.StatusForbidden},
		{scraped, []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, http.StatusForbidden},
		{scraped, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, http.StatusForbidden},
		{scraped, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty", "Origin", "https://evil.example"}, http.StatusForbidden},
		{image, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, http.StatusForbidden},
		{"/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, http.StatusForbidden},
		{"/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, http.StatusOK},
		{"/", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, http.StatusOK},
		{"/static/page.js", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}, http.StatusOK},
		{"/profiles/s/samples", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty", "Origin", allowed}, http.StatusOK},
		{image, nil, http.StatusOK},
	} {
		response, body := s.get(t, test.path, test.header...)
		assert.Equal(t, test.want, response.StatusCode, "%s %v: %.200s", test.path, test.header, body)
		assert.Equal(t, "same-origin", response.Header.Get("Cross-Origin-Resource-Policy"))
	}
	response, body := s.get(t, scraped)
	require.Equal(t, http.StatusOK, response.StatusCode, "no other site has taken the profile: %s", body)
	assert.Equal(t, []int64{5}, totals(t, body))
}

// TestOpenToAll: a server on another address than loopback needs a way to know who asks.
func TestOpenToAll(t *testing.T) {
	loopback, anywhere := &net.TCPAddr{IP: net.IPv6loopback}, &net.TCPAddr{IP: net.IPv4zero}
	cfg := createDefaultConfig().(*Config)
	assert.True(t, openToAll(cfg, anywhere))
	assert.False(t, openToAll(cfg, loopback))

	cfg.HTTP.TLS = configoptional.Some(configtls.ServerConfig{})
	assert.True(t, openToAll(cfg, anywhere), "TLS says who the server is, not the client")
	cfg.HTTP.TLS = configoptional.Some(configtls.ServerConfig{ClientCAFile: "clients.pem"})
	assert.False(t, openToAll(cfg, anywhere))

	cfg = createDefaultConfig().(*Config)
	cfg.HTTP.Auth = configoptional.Some(confighttp.AuthConfig{})
	assert.False(t, openToAll(cfg, anywhere))
}

// A scraper adds up its answers. It must receive each profile once, independent of other scrapers and of how often it asks.
func TestServerScrapers(t *testing.T) {
	s := newServing(t, nil)
	post := func(minute int, value int64) {
		s.post(t, made(t, day.Add(time.Duration(minute)*time.Minute), []string{"samples"}, value), map[string]any{"service.name": "s"})
	}
	sum := func(path string) int64 {
		response, body := s.get(t, path)
		if response.StatusCode == http.StatusNotFound {
			assert.Contains(t, string(body), "since the last fetch")
			return 0
		}
		require.Equal(t, http.StatusOK, response.StatusCode, string(body))
		return totals(t, body)[0]
	}
	const one, two = "/profiles/s/samples?scraper=one", "/profiles/s/samples?scraper=two&seconds=3600"
	post(0, 1)
	post(1, 10)
	assert.EqualValues(t, 11, sum(one), "the first time all")
	assert.Zero(t, sum(one))
	post(2, 100)
	response, err := http.Head(s.url + one)
	require.NoError(t, err)
	response.Body.Close()
	assert.EqualValues(t, 100, sum(one), "who asked for the header got no profile")
	assert.Zero(t, sum(one))
	assert.EqualValues(t, 111, sum(two), "another scraper")
	post(0, 1000)
	assert.EqualValues(t, 1000, sum(two), "it is late, and counts by its arrival")
	assert.EqualValues(t, 1000, sum(one))
	assert.EqualValues(t, 1111, sum("/profiles/s/samples"), "without a name all")
	response, body := s.get(t, "/profiles/s/samples?scraper=three&until=2020-01-01T00:00:00Z")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	assert.Contains(t, string(body), "is of that time", "its first fetch")
	response, _ = s.get(t, "/profiles/none/samples?scraper=one")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
}

func TestScrapersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s scrapers
		for i := range maxScrapers {
			key := scraperKey{byte(i), byte(i >> 8)}
			_, _, err := s.last(key)
			require.NoError(t, err)
			s.remember(key, nil)
		}
		_, received, err := s.last(scraperKey{1})
		require.NoError(t, err, "one that is known")
		assert.True(t, received)
		_, _, err = s.last(scraperKey{0xff, 0xff})
		require.ErrorContains(t, err, "1000 scrapers")
		time.Sleep(scraperMemory)
		_, _, err = s.last(scraperKey{0xff, 0xff})
		require.NoError(t, err, "the others were long ago")
		assert.Empty(t, s.given)
	})
}

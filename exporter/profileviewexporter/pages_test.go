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
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/page"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
)

// Without a wait, a request is refused only if no place is free.
func TestAcquireWithoutWaiting(t *testing.T) {
	d := newHolding(t, 1<<20)
	d.cfg.ConcurrencyWait = 0
	for range 100 {
		require.NoError(t, d.pages.acquire(t.Context()), "both places are free")
		require.NoError(t, d.pages.acquire(t.Context()), "one place is free")
		require.ErrorContains(t, d.pages.acquire(t.Context()), "the limit of 2 concurrent requests is reached")
		<-d.pages.working
		<-d.pages.working
	}
}

// A shutdown ends the contexts of requests before it closes their connections. The client must not take that for an empty answer.
func TestEndedRequestHasNoAnswer(t *testing.T) {
	d := newHolding(t, 1<<20)
	d.pages.budget = memory.New(64<<20, time.Hour)
	others := budgettest.Hold(t, d.pages.budget, 64<<20)
	running, stop := context.WithCancel(t.Context())
	server := httptest.NewUnstartedServer(d.pages.handler())
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
	require.Eventually(t, func() bool { return len(d.pages.working) == 1 }, deliverytest.Patience, time.Millisecond)
	stop()
	require.ErrorIs(t, <-ended, io.EOF)
	others.Release()
	used, _ := d.pages.budget.Used()
	assert.Zero(t, used)
	assert.Empty(t, d.pages.working)
}

// A request above the limit of concurrent requests waits until its client leaves.
func TestAcquireWaits(t *testing.T) {
	d := newHolding(t, 1<<20)
	d.cfg.MaxConcurrentRequests, d.cfg.ConcurrencyWait = 1, deliverytest.Patience
	p := newPages(d.cfg, d.store, unlimited())
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
	handler := d.pages.accounted(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = working(d.pages, r, func(*meter.Meter) (int, error) { panic("drawing") })
	}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	assert.PanicsWithValue(t, "drawing", func() { handler.ServeHTTP(httptest.NewRecorder(), r) })
	used, peak := d.pages.budget.Used()
	assert.Zero(t, used)
	assert.EqualValues(t, leastWork, peak)
	assert.Empty(t, d.pages.working)
}

// The page and its files have their policy, their ETags, and are compressed.
func TestPageFiles(t *testing.T) {
	s := newServing(t, func(cfg *Config) { cfg.PathPrefix = "/some/where" })
	for path, contentType := range map[string]string{
		"/": "text/html; charset=utf-8", "/static/style.css": "text/css; charset=utf-8", "/static/page.js": "text/javascript; charset=utf-8",
	} {
		response, body := s.get(t, path)
		require.Equal(t, http.StatusOK, response.StatusCode, path)
		assert.NotEmpty(t, body)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Content-Type": contentType,
			"Content-Security-Policy": page.Policy, "Access-Control-Allow-Origin": "",
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

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
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// Without a wait, a request is refused only if no place is free.
func TestAcquireWithoutWaiting(t *testing.T) {
	d := newHolding(t, 1<<20)
	d.cfg.ConcurrencyWait = 0
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	for range 100 {
		first, err := d.pages.acquire(r)
		require.NoError(t, err, "both places are free")
		second, err := d.pages.acquire(r)
		require.NoError(t, err, "one place is free")
		_, err = d.pages.acquire(r)
		require.ErrorContains(t, err, "the limit of 2 concurrent requests is reached")
		first()
		second()
	}
}

// A shutdown ends the contexts of requests before it closes their connections. The client must not take that for an empty answer.
func TestEndedRequestHasNoAnswer(t *testing.T) {
	d := newGraphs(t)
	d.pages.budget = memory.New(64<<20, time.Hour)
	others, err := d.pages.budget.Reserve(t.Context(), 64<<20)
	require.NoError(t, err)
	running, stop := context.WithCancel(t.Context())
	server := httptest.NewUnstartedServer(d.pages.handler())
	server.Config.BaseContext = func(net.Listener) context.Context { return running }
	server.Start()
	defer server.Close()
	ended := make(chan error)
	go func() {
		response, err := server.Client().Get(server.URL + graphPath)
		if err == nil {
			response.Body.Close()
		}
		ended <- err
	}()
	require.Eventually(t, func() bool { return len(d.pages.merging) == 1 }, deliverytest.Patience, time.Millisecond)
	stop()
	require.ErrorIs(t, <-ended, io.EOF)
	others.Release()
	used, _ := d.pages.budget.Used()
	assert.Zero(t, used)
	assert.Empty(t, d.pages.merging)
}

// The memory of an answer is free at once if drawing panics.
func TestPanicReleasesMemory(t *testing.T) {
	d := newHolding(t, 1<<20)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	assert.PanicsWithValue(t, "drawing", func() {
		_ = d.pages.serveLimited(r, nil, func(*merge.Work) ([]byte, error) { panic("drawing") }, nil)
	})
	used, peak := d.pages.budget.Used()
	assert.Zero(t, used)
	assert.EqualValues(t, leastWork, peak)
	assert.Empty(t, d.pages.merging)
}

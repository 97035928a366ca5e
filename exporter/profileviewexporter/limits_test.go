// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/budgettest"
)

// longQuery returns a query of about 8 KiB that is three times as long after escaping, and that all links of a page repeat.
func longQuery() string {
	var conditions []string
	for i := range maxSelectors {
		conditions = append(conditions, fmt.Sprintf("resource.a!=%d%s", i, strings.Repeat("(", 230)), fmt.Sprintf("label.a!=%d%s", i, strings.Repeat("(", 230)))
	}
	return "?" + strings.Join(conditions, "&")
}

// waiter is a context that calls a function when a request waits for its end or for something else.
type waiter struct {
	context.Context //nolint:containedctx // this is a context
	waits           func()
}

func (w waiter) Done() <-chan struct{} {
	w.waits()
	return w.Context.Done()
}

// The memory of a request is reserved while it waits for its place.
func TestWaitingRequestsAreReserved(t *testing.T) {
	const requests = 100
	d := newHolding(t, 1<<20)
	d.cfg.ConcurrencyWait = time.Hour
	require.True(t, d.store.Add(held(t, hostile(10, 10, 10, 10, 0, 1), "a")))
	d.pages.budget = budget.New(4<<30, 0)
	for range d.cfg.MaxConcurrentRequests {
		d.pages.merging <- struct{}{}
	}
	handler, query := d.pages.handler(), longQuery()
	require.Less(t, len(query), maxQuery)
	require.Greater(t, len(query), maxQuery*9/10)
	before := heapInUse()
	var waiting atomic.Int64
	left, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range requests {
		all.Go(func() {
			r := httptest.NewRequestWithContext(left, http.MethodGet, "/view/s/samples/functions"+query, http.NoBody)
			r = r.WithContext(waiter{left, func() { waiting.Add(1) }}) //nolint:contextcheck // it is left
			assert.PanicsWithValue(t, http.ErrAbortHandler, func() { handler.ServeHTTP(httptest.NewRecorder(), r) })
		})
	}
	require.Eventually(t, func() bool { return waiting.Load() >= requests }, deliverytest.Patience, time.Millisecond)
	growth := heapInUse() - before
	used, _ := d.pages.budget.Used()
	t.Logf("%d requests that wait use %d MiB, %d MiB are reserved", requests, growth>>20, used>>20)
	assert.LessOrEqual(t, growth, used+16<<20)
	leave()
	all.Wait()
	used, _ = d.pages.budget.Used()
	assert.Zero(t, used)
	assert.Empty(t, d.pages.requests)
}

// Above the limit of requests in progress, a request is refused at once.
func TestRequestsInProgress(t *testing.T) {
	d := newHolding(t, 1<<20)
	answer := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		d.pages.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
		return w
	}
	for range maxRequests - 1 {
		d.pages.requests <- struct{}{}
	}
	assert.Equal(t, http.StatusOK, answer().Code)
	d.pages.requests <- struct{}{}
	refused := answer()
	assert.Equal(t, http.StatusServiceUnavailable, refused.Code)
	assert.Equal(t, "1", refused.Header().Get("Retry-After"))
	assert.Contains(t, refused.Body.String(), "the limit of 500 requests in progress is reached")
	assert.Len(t, d.pages.requests, maxRequests)

	d = newHolding(t, 1<<20)
	d.cfg.HTTP.NetAddr.Endpoint = deliverytest.FreeEndpoint(t)
	require.NoError(t, d.start(t.Context(), budgettest.NewHost(unlimited())))
	assert.Equal(t, maxStreams, d.http.HTTP2.MaxConcurrentStreams)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/budgettest"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// longQuery returns a query of about 8 KiB of a character, which all links of a page repeat.
func longQuery(character string) string {
	var conditions []string
	for i := range maxSelectors {
		conditions = append(conditions, fmt.Sprintf("resource.a!=%d%s", i, strings.Repeat(character, 230)), fmt.Sprintf("label.a!=%d%s", i, strings.Repeat(character, 230)))
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
	d.pages.budget = memory.New(4<<30, 0)
	for range d.cfg.MaxConcurrentRequests {
		d.pages.merging <- struct{}{}
	}
	handler, query := d.pages.handler(), longQuery("(")
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

// Above the limit of connections, the one that has sent nothing for longest is closed, and browsers are served.
func TestConnectionsOfPages(t *testing.T) {
	s := newServing(t, nil)
	address := strings.TrimPrefix(s.url, "http://")
	var oldest net.Conn
	for range maxConnections {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		if oldest == nil {
			oldest = c
		}
	}
	response, _ := s.get(t, "/")
	assert.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, oldest.SetReadDeadline(time.Now().Add(deliverytest.Patience)))
	_, err := oldest.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it is open")
	assert.EqualValues(t, 1, deliverytest.Counted(t, s.telemetry, "otelcol_exporter_profile_view_closed_connections", "", ""))
	assert.Equal(t, 500, maxConnections)
}

// neighbours returns a profile of a function with many callers and callees, and of a label with many values.
func neighbours() *profile.Profile {
	p := hostile(maxFunctions, 3, 2*maxFunctions+1, 10, 0, 1)
	for i, f := range p.Function {
		f.Name = fmt.Sprintf("f%04d", i)
	}
	for i, s := range p.Sample {
		s.Location = []*profile.Location{p.Location[2*i+1], p.Location[0], p.Location[2*i+2]}
		s.Label = map[string][]string{"k": {strconv.Itoa(i)}, "trace_id": {traceA}}
	}
	return p
}

// The memory of the links of all rows is reserved, also if the query is long.
func TestLinksAreReserved(t *testing.T) {
	d := newHolding(t, 64<<20)
	require.True(t, d.store.Add(held(t, neighbours(), "a")))
	for i := range maxTraceRows {
		e := held(t, neighbours(), "a")
		e.Service = "traced" + strconv.Itoa(i)
		require.True(t, d.store.Add(e))
	}
	for path, links := range map[string]int{
		"/view/s/samples/functions?sort=cum&": maxFunctions, "/view/s/samples/functions?function=f0000&": 2 * maxFunctions,
		"/view/s/samples/compare?base_from=all&": maxFunctions, "/view/s/samples/both?sort=cum&": maxBeside,
		"/view/s/samples/labels?by=label.k&": groupLimits.Values, "/trace/" + traceA + "?from=all&": 2 * maxTraceRows,
	} {
		for character, growth := range map[string]int{"(": 3, "+": 5} { // after escaping
			w, query := httptest.NewRecorder(), longQuery(character)
			d.pages.budget = memory.New(1<<30, time.Minute)
			runtime.GC()
			peak := peakOf(func() { d.pages.handler().ServeHTTP(w, browserRequest(t, path+query[1:])) })
			used, reserved := d.pages.budget.Used()
			t.Logf("%-40s %4d MiB, %4d MiB reserved, a page of %5d KiB", path, peak>>20, reserved>>20, w.Body.Len()>>10)
			require.Equal(t, http.StatusOK, w.Code, "%s: %.300s", path, w.Body)
			assert.Greater(t, w.Body.Len(), links*growth*len(query)*9/10, "%s: each row has a link", path)
			assert.LessOrEqual(t, peak, 2*reserved+16<<20, path)
			assert.Zero(t, used, path)
		}
	}
}

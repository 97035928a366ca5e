// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/connections"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// Above the limit of requests in progress, a request is refused at once.
func TestRequestsInProgress(t *testing.T) {
	d := newHolding(t, 1<<20)
	answer := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		d.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
		return w
	}
	for range maxRequests - 1 {
		d.requests <- struct{}{}
	}
	assert.Equal(t, http.StatusOK, answer().Code)
	d.requests <- struct{}{}
	refused := answer()
	assert.Equal(t, http.StatusServiceUnavailable, refused.Code)
	assert.Equal(t, "1", refused.Header().Get("Retry-After"))
	assert.Contains(t, refused.Body.String(), "the limit of 500 requests in progress is reached")
	assert.Len(t, d.requests, maxRequests)

	d = newHolding(t, 1<<20)
	d.cfg.HTTP.NetAddr.Endpoint = deliverytest.FreeEndpoint(t)
	require.NoError(t, d.start(t.Context(), budgettest.NewHost(unlimited())))
	assert.Equal(t, maxStreams, d.http.HTTP2.MaxConcurrentStreams)
}

// Above the limit of connections without a request, the one that has sent nothing for longest is closed, and browsers are served.
func TestConnectionsOfPages(t *testing.T) {
	s := newServing(t, nil)
	address := strings.TrimPrefix(s.url, "http://")
	var oldest net.Conn
	for range connections.MaxWaiting {
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

// A request of the API that waits is not decoded yet, so it takes no more memory than its bytes.
func TestWaitingRequests(t *testing.T) {
	const waiting = 100
	d := newHolding(t, 1<<20)
	d.wait = deliverytest.Patience
	for range d.cfg.MaxConcurrentRequests {
		d.working <- struct{}{}
	}
	message := `{"profileIdSelector":[` + strings.Repeat(`"",`, 20_000) + `""]}`
	require.Less(t, len(message), 64<<10)
	runtime.GC()
	before := heapObjects()
	answers := make(chan int, waiting)
	for range waiting {
		go func() { answers <- d.query(t, "SelectMergeStacktraces", message).Code }()
	}
	require.Eventually(t, func() bool { return len(d.requests) == waiting }, deliverytest.Patience, time.Millisecond)
	used, _ := d.budget.Used()
	assert.Zero(t, used)
	require.Eventually(t, func() bool { // all have read their messages
		return heapObjects()-before > waiting*60<<10
	}, deliverytest.Patience, time.Millisecond)
	runtime.GC()
	assert.Less(t, heapObjects()-before, int64(waiting*96<<10))
	for range d.cfg.MaxConcurrentRequests {
		<-d.working
	}
	for range waiting {
		assert.Equal(t, http.StatusNotImplemented, <-answers)
	}
}

// TestDeepValues sends attributes that are nested so deeply that a recursive reader would end the process. The profile is
// refused and counted, and the other profiles of the message are stored.
func TestDeepValues(t *testing.T) {
	profiletest.LimitStack(t, 256<<20) // pdata measures a message by calling itself for each level
	for _, place := range []string{"resource", "sample"} {
		t.Run(place, func(t *testing.T) {
			s := newServing(t, nil)
			pd := deliverytest.Request(t, deliverytest.CPU(t, "deep"), deliverytest.CPU(t, "sound"))
			profiletest.Deepen(pd, place, 1_000_000)
			err := s.ConsumeProfiles(t.Context(), pd)
			require.ErrorContains(t, err, `attribute "deep" is too deep`)
			assert.True(t, consumererror.IsPermanent(err))
			assert.Equal(t, []string{"cpu"}, s.types(t, "sound"))
			assert.Positive(t, counted(t, s.telemetry, "profiles_refused", "reason", delivery.ReasonInvalid))
		})
	}
}

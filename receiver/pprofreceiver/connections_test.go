// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/budgettest"
)

// TestManyConnections: an honest client is served while another client opens the maximum number of connections.
func TestManyConnections(t *testing.T) {
	const most, hostile = 20, 200
	r := run(t, func(_ *Config, s *ServerConfig) { s.MaxConnections = most })
	for range hostile {
		r.raw(t, "POST /v1/pprof HTTP/1.1\r\nHost: ")
	}
	got := r.post(t, "/v1/pprof", plain(t, cpuProfile(1)))
	require.Equal(t, http.StatusNoContent, got.status, got.text)
	metric, err := r.telemetry.GetMetric("otelcol_receiver_pprof_closed_connections")
	require.NoError(t, err)
	assert.NotNil(t, metric)
}

// TestManyStreams: HTTP/2 streams without a body are limited to a part of the budget, and the oldest ones are refused
// first.
func TestManyStreams(t *testing.T) {
	const fit, streams = 20, 100
	r := runOn(t, budgettest.NewHost(budget.New(2*fit*(requestBytes+1<<10), 5*time.Second)), nil)
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	body, end := io.Pipe()
	var answered atomic.Int64
	var group sync.WaitGroup
	for range streams {
		group.Go(func() {
			response, err := (&http.Client{Transport: transport}).Post(r.url+"/v1/pprof", "", body)
			answered.Add(1)
			if err == nil {
				assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
				response.Body.Close()
			}
		})
	}
	arriving := r.receiver.sections[0].(*server).arrivals
	assert.Eventually(t, func() bool { return answered.Load() >= streams-fit }, 10*time.Second, 10*time.Millisecond)
	arriving.mu.Lock()
	assert.LessOrEqual(t, arriving.incomplete.Len(), fit)
	assert.LessOrEqual(t, arriving.held, arriving.limit)
	arriving.mu.Unlock()
	assert.Positive(t, r.refusals("memory_budget"))
	require.NoError(t, end.CloseWithError(io.ErrUnexpectedEOF))
	group.Wait()
	assert.Eventually(t, func() bool {
		return r.post(t, "/v1/pprof", plain(t, cpuProfile(1))).status == http.StatusNoContent
	}, 10*time.Second, 10*time.Millisecond)
}

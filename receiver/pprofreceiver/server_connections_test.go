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

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
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
	assert.Equal(t, 100, r.receiver.sections[0].(*server).http.HTTP2.MaxConcurrentStreams, "each connection has few streams")
}

// TestManyStreams: HTTP/2 streams without a body are limited by the budget, and those that have stalled are refused.
func TestManyStreams(t *testing.T) {
	const fit, streams = 20, 100
	r := runOn(t, budgettest.NewHost(memory.New(fit*(requestBytes+1<<10), 5*time.Second)), nil)
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
	budget := r.receiver.intake.budget
	assert.Eventually(t, func() bool { return answered.Load() >= streams-fit }, 10*time.Second, 10*time.Millisecond)
	assert.LessOrEqual(t, budget.Arriving(), fit+1)
	assert.LessOrEqual(t, used(budget), budget.Size())
	assert.Positive(t, r.refusals("memory_budget"))
	require.NoError(t, end.CloseWithError(io.ErrUnexpectedEOF))
	group.Wait()
	assert.Eventually(t, func() bool {
		return r.post(t, "/v1/pprof", plain(t, cpuProfile(1))).status == http.StatusNoContent
	}, 10*time.Second, 10*time.Millisecond)
}

// countingReader counts the bytes that were read from it. A client may read up to 512 KiB at a time before it sends any of them, so
// it returns few.
type countingReader struct {
	io.Reader
	read atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p[:min(len(p), 16<<10)])
	c.read.Add(int64(n))
	return n, err
}

// TestBuffersHTTP2: while a request waits for memory, its client can only send a little over HTTP/2.
func TestBuffersHTTP2(t *testing.T) {
	b := memory.New(1<<20, time.Minute)
	r := runOn(t, budgettest.NewHost(b), nil)
	r.overHTTP2(t)
	defer r.client.CloseIdleConnections()
	others := holdAllBut(t, b, 64<<10)
	body := &countingReader{Reader: zeros(200 << 10)}
	answered := make(chan reply, 1)
	go func() {
		got, err := r.send(t.Context(), http.MethodPost, "/v1/pprof", body)
		assert.NoError(t, err)
		answered <- got
	}()
	const window, clientBuffer = 64 << 10, 64 << 10
	require.Eventually(t, func() bool { return body.read.Load() >= window }, 10*time.Second, time.Millisecond)
	time.Sleep(100 * time.Millisecond)
	assert.LessOrEqual(t, body.read.Load(), int64(window+clientBuffer), "bytes that nothing has reserved")
	others.Release()
	assert.Equal(t, http.StatusBadRequest, (<-answered).status, "it is no profile")
}

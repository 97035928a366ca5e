// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowText returns a small body that takes long to read, and is then refused as malformed: one line of words like times.
func slowText(tb testing.TB) []byte {
	tb.Helper()
	const size = 16 << 20
	return zs(tb, []byte(" "+strings.Repeat("1.0: ", size/5)))
}

const perfScriptPath = "/v1/pprof?format=perf_script"

// TestClientLeaves: the receiver stops reading a payload when its client leaves, and does not begin with one that waits.
func TestClientLeaves(t *testing.T) {
	r := run(t, func(_ *Config, s *ServerConfig) { s.MaxConcurrentRequests = 1 })
	body := slowText(t)
	ctx, leave := context.WithCancel(t.Context())
	const clients = 3
	ended := make(chan error, clients)
	for range clients {
		go func() {
			_, err := r.send(ctx, http.MethodPost, perfScriptPath, bytes.NewReader(body))
			ended <- err
		}()
	}
	r.waitFull(t)
	leave()
	for range clients {
		require.ErrorIs(t, <-ended, context.Canceled)
	}
	require.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", plain(t, cpuProfile(1))).status)
	require.NoError(t, r.receiver.Shutdown(t.Context()))
	assert.Positive(t, r.refusals("aborted"))
	assert.Zero(t, r.refusals("malformed"), "nothing was read to its end")
}

// TestShutdownWhileReading: within 10 s, which is what SIGTERM may take, a shutdown ends the requests whose payloads take long to read.
func TestShutdownWhileReading(t *testing.T) {
	const clients = 64
	r := runWaiting(t, time.Minute, func(_ *Config, s *ServerConfig) {
		s.MaxConcurrentRequests, s.MaxConcurrentRequestsPerTenant = clients/2, clients/2
	})
	body := slowText(t)
	statuses := make(chan int, clients)
	for range clients {
		go func() {
			// There is an error if the request has not arrived.
			answer, _ := r.send(t.Context(), http.MethodPost, perfScriptPath, bytes.NewReader(body))
			statuses <- answer.status
		}()
	}
	limiter := r.receiver.sections[0].(*server).limiter
	require.Eventually(t, func() bool {
		limiter.mu.Lock()
		defer limiter.mu.Unlock()
		tenant := limiter.tenants[""]
		return tenant != nil && tenant.requests > clients/2 // half of them are read, others wait
	}, 30*time.Second, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	assert.NoError(t, r.receiver.Shutdown(ctx))
	retryable := 0
	for range clients {
		if status := <-statuses; status == http.StatusServiceUnavailable {
			retryable++
		}
	}
	assert.Positive(t, retryable, "those that wait are told to come again")
}

// waitFull waits until as many requests are processed as are allowed.
func (r *running) waitFull(t *testing.T) {
	t.Helper()
	all := r.receiver.sections[0].(*server).limiter.all
	require.Eventually(t, func() bool {
		free := all.TryAcquire(1)
		if free {
			all.Release(1)
		}
		return !free
	}, 30*time.Second, time.Millisecond)
}

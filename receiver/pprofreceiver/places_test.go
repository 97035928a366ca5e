// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBusy refuses a request for which no place comes free, and tells the sender to come back.
func TestBusy(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	r := run(t, func(_ *Config, s *ServerConfig) {
		s.MaxConcurrentRequests, s.ConcurrencyWait, s.RetryAfter = 1, 10*time.Millisecond, 1500*time.Millisecond
	})
	r.sink.consume = func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	}
	body := plain(t, cpuProfile(1))
	first := r.postLater(t, "/v1/pprof", body)
	<-entered

	got := r.post(t, "/v1/pprof", body)
	assert.Equal(t, http.StatusServiceUnavailable, got.status)
	assert.Equal(t, "2", got.header.Get("Retry-After"), "rounded up")
	assert.Contains(t, got.text, "max_concurrent_requests")
	r.assertRefusals(t, map[string]int64{"busy": 1})

	close(release)
	assert.Equal(t, http.StatusNoContent, (<-first).status)
}

// TestWaitForPlace lets a request wait for its turn.
func TestWaitForPlace(t *testing.T) {
	entered, release := make(chan struct{}, 2), make(chan struct{})
	r := run(t, func(_ *Config, s *ServerConfig) { s.MaxConcurrentRequests, s.ConcurrencyWait = 1, time.Minute })
	r.sink.consume = func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	}
	body := plain(t, cpuProfile(1))
	first, second := r.postLater(t, "/v1/pprof", body), r.postLater(t, "/v1/pprof", body)
	<-entered
	close(release)
	assert.Equal(t, http.StatusNoContent, (<-first).status)
	assert.Equal(t, http.StatusNoContent, (<-second).status)
}

// TestSlowSendersHoldNoPlace opens requests whose body does not begin, or does not get far. Others are served meanwhile.
func TestSlowSendersHoldNoPlace(t *testing.T) {
	r := run(t, func(_ *Config, s *ServerConfig) { s.MaxConcurrentRequests, s.ConcurrencyWait = 1, 0 })
	for range 5 {
		r.raw(t, unfinished(1_000_000, 0))
		r.raw(t, unfinished(1_000_000, 1000))
	}
	time.Sleep(20 * time.Millisecond)
	got := r.post(t, "/v1/pprof", plain(t, cpuProfile(1)))
	assert.Equal(t, http.StatusNoContent, got.status, got.text)
}

func TestGivingUpWaiting(t *testing.T) {
	p := newPlaces(1, time.Minute)
	require.NoError(t, p.take(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := p.take(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, classAborted, classify(err))
	p.leave()
	require.NoError(t, p.take(t.Context()))
}

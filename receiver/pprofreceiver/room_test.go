// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRoomRefuses: what does not come free in time is refused; whoever was refused is in nobody's way.
func TestRoomRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(100, time.Second)
		first, err := r.take(t.Context(), 60)
		require.NoError(t, err)
		small := make(chan error)
		go func() {
			time.Sleep(time.Millisecond) // It stands behind the one that is refused.
			_, err := r.take(t.Context(), 40)
			small <- err
		}()
		_, err = r.take(t.Context(), 41)
		require.ErrorContains(t, err, "max_concurrent_bytes")
		assert.Equal(t, classBusy, classify(err))
		require.NoError(t, <-small)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = r.take(ctx, 1)
		assert.Equal(t, classAborted, classify(err))
		first.leave()
		assert.Equal(t, 40, r.used)
		assert.Empty(t, r.coming)
	})
}

// TestRoomIsForAnySize: a request that is larger than all there is gets it all, and waits for that.
func TestRoomIsForAnySize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(100, time.Second)
		first, err := r.take(t.Context(), 1)
		require.NoError(t, err)
		go func() {
			time.Sleep(time.Millisecond)
			first.leave()
		}()
		large, err := r.take(t.Context(), 1000)
		require.NoError(t, err)
		assert.Equal(t, 100, r.used)
		require.NoError(t, large.atLeast(t.Context(), 1000))
		assert.Equal(t, 1000, r.used)
		large.atMost(500)
		assert.Equal(t, 500, r.used)
		large.leave()
		assert.Zero(t, r.used)
		assert.Nil(t, r.overdrawn)
	})
}

// TestRoomLetsOneOverdraw: requests that all turn out larger than expected do not wait for each other for good; one at a
// time has more than there is, and nobody else comes meanwhile.
func TestRoomLetsOneOverdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(100, time.Minute)
		one, err := r.take(t.Context(), 50)
		require.NoError(t, err)
		other, err := r.take(t.Context(), 50)
		require.NoError(t, err)
		require.NoError(t, one.atLeast(t.Context(), 80))
		require.NoError(t, one.atLeast(t.Context(), 90), "and once more")

		var grown, came atomic.Bool
		go func() {
			assert.NoError(t, other.atLeast(t.Context(), 70))
			grown.Store(true)
			other.leave()
		}()
		go func() {
			c, err := r.take(t.Context(), 10)
			assert.NoError(t, err)
			came.Store(true)
			c.leave()
		}()
		synctest.Wait()
		assert.False(t, grown.Load())
		assert.False(t, came.Load())
		one.leave()
		synctest.Wait()
		assert.True(t, grown.Load())
		assert.True(t, came.Load())
		assert.Zero(t, r.used)
	})
}

// TestRoomConcurrent: however they come and grow, what is used stays within the bound and one request, and all end.
func TestRoomConcurrent(t *testing.T) {
	const size, largest = 1000, 400
	r := newRoom(size, time.Minute)
	var used atomic.Int64
	var group sync.WaitGroup
	for n := range 16 {
		group.Go(func() {
			for round := range 200 {
				bytes := 1 + (n*37+round*101)%(largest/2)
				c, err := r.take(t.Context(), bytes)
				if !assert.NoError(t, err) {
					return
				}
				now := used.Add(int64(bytes))
				assert.LessOrEqual(t, now, int64(size+largest))
				assert.NoError(t, c.atLeast(t.Context(), 2*bytes))
				assert.LessOrEqual(t, used.Add(int64(bytes)), int64(size+largest))
				runtime.Gosched()
				used.Add(int64(-2 * bytes))
				c.leave()
			}
		})
	}
	group.Wait()
	assert.Zero(t, r.used)
	assert.Nil(t, r.overdrawn)
}

// TestTooManyBytes: while a large profile is worked on, others are told to come again, in every API.
func TestTooManyBytes(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	body := plain(t, cpuProfile(1))
	r := run(t, func(_ *Config, s *ServerConfig) {
		s.MaxConcurrentBytes, s.ConcurrencyWait = len(body), 10*time.Millisecond
	})
	r.sink.consume = func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	}
	first := r.postLater(t, "/v1/pprof", body)
	<-entered
	for _, again := range []reply{
		r.post(t, "/v1/pprof", gz(t, body)),
		r.post(t, pushPath, pushRequest(false, map[string]string{"service_name": "a"}, body), "Content-Type", "application/proto"),
	} {
		assert.Equal(t, http.StatusServiceUnavailable, again.status, again.text)
		assert.NotEmpty(t, again.header.Get("Retry-After"))
		assert.Contains(t, again.text, "max_concurrent_bytes")
	}
	r.assertRefusals(t, map[string]int64{"busy": 2})
	close(release)
	assert.Equal(t, http.StatusNoContent, (<-first).status)
}

// TestLargerThanExpected: what a request takes is what it inflates to. While one is above all there is, another that
// turns out larger than its body said is refused as a whole, not as a bad profile among good ones.
func TestLargerThanExpected(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	large := cpuProfile(1)
	for range 9_000 {
		large.Comments = append(large.Comments, "the same again and again")
	}
	body := gz(t, plain(t, large))
	require.Less(t, 10*len(body), len(plain(t, large)))
	r := run(t, func(_ *Config, s *ServerConfig) {
		s.MaxConcurrentBytes, s.ConcurrencyWait = 10*len(body), 10*time.Millisecond
	})
	r.sink.consume = func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	}
	first := r.postLater(t, "/v1/pprof", body)
	<-entered
	got := r.post(t, pushPath, pushRequest(false, map[string]string{"service_name": "a"}, body), "Content-Type", "application/proto")
	assert.Equal(t, http.StatusServiceUnavailable, got.status, got.text)
	r.assertRefusals(t, map[string]int64{"busy": 1})
	close(release)
	assert.Equal(t, http.StatusNoContent, (<-first).status)
}

// TestWaitingAtShutdown: a request that waits for its turn while the receiver is shut down is told to come again. Its sender
// is still there.
func TestWaitingAtShutdown(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	body := plain(t, cpuProfile(1))
	r := run(t, func(_ *Config, s *ServerConfig) { s.MaxConcurrentBytes, s.ConcurrencyWait = len(body), time.Minute })
	r.sink.consume = func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	}
	first := r.postLater(t, "/v1/pprof", body)
	<-entered
	second := r.postLater(t, "/v1/pprof", body)
	server := r.receiver.sources[0].(*server)
	require.Eventually(t, func() bool {
		server.room.mu.Lock()
		defer server.room.mu.Unlock()
		return len(server.room.coming) == 1
	}, time.Minute, time.Millisecond)
	ended := make(chan error)
	go func() { ended <- r.receiver.Shutdown(context.WithoutCancel(t.Context())) }()
	got := <-second
	assert.Equal(t, http.StatusServiceUnavailable, got.status, got.text)
	assert.NotEmpty(t, got.header.Get("Retry-After"))
	close(release)
	assert.Equal(t, http.StatusNoContent, (<-first).status)
	require.NoError(t, <-ended)
}

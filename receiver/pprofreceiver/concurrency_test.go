// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestConcurrentRequests sends requests with different values to all APIs at the same time. Each message has the values
// of its request: reused buffers do not mix requests up.
func TestConcurrentRequests(t *testing.T) {
	r := run(t, nil)
	const senders, rounds = 8, 10
	var all sync.WaitGroup
	want := map[string]map[string]int64{}
	for sender := range senders {
		for round := range rounds {
			n := 1 + sender*rounds + round
			service := "s" + strconv.Itoa(n)
			p := cpuProfile(1)
			p.Sample[0].Value = []int64{int64(n), int64(n) * 1000}
			p.Function[0].Name = service
			count := map[int]int64{0: 1, 1: 1, 2: 1, 3: 2, 4: 1}[n%5]
			want[service] = map[string]int64{"samples/count": int64(n) * count, "cpu/nanoseconds": int64(n) * 1000 * count}
			body := plain(t, p)
			target, content, headers := "/v1/pprof?service.name="+service, body, []string{"Content-Encoding", "gzip"}
			switch n % 5 {
			case 0:
				content = gz(t, body)
			case 1:
				target, content = "/ingest?name="+service, gz(t, formOf("b", "profile", string(zs(t, body))))
				headers = append(headers, asForm...)
			case 2:
				target, content = pushPath, gz(t, pushRequest(false, map[string]string{"service_name": service}, body))
				headers = append(headers, "Content-Type", "application/proto")
			case 3:
				event := `{"tags_profiler":"service:` + service + `"}`
				target, content = "/profiling/v1/input", gz(t, formOf("b", "a.pprof", string(body), "b.pprof", string(gz(t, body)), "event", event))
				headers = append(headers, asForm...)
			case 4:
				target, content = parcaPath, zs(t, pushRequest(true, map[string]string{"service_name": service}, gz(t, body)))
				headers = []string{"Content-Encoding", "zstd", "Content-Type", "application/proto"}
			}
			all.Go(func() {
				got := r.post(t, target, content, headers...)
				assert.Contains(t, []int{http.StatusOK, http.StatusNoContent}, got.status, got.text)
			})
		}
	}
	all.Wait()
	got := map[string]map[string]int64{}
	for _, message := range r.sink.all() {
		require.NoError(t, profiletest.Check(message))
		resource := message.ResourceProfiles().At(0)
		service, _ := resource.Resource().Attributes().Get("service.name")
		sum := map[string]int64{}
		for _, scope := range resource.ScopeProfiles().All() {
			for key, value := range sumsOf(message.Dictionary(), scope) {
				sum[key] += value
			}
		}
		got[service.Str()] = sum
		assert.Contains(t, message.Dictionary().StringTable().AsRaw(), service.Str())
	}
	assert.Equal(t, want, got)
}

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
	require.Eventually(t, func() bool { return r.refusals("aborted") > 0 }, time.Minute, time.Millisecond, "also one whose place the last request took")
	require.NoError(t, r.receiver.Shutdown(t.Context()))
	assert.Zero(t, r.refusals("malformed"), "nothing was read to its end")
}

// TestShutdownWhileReading: within 10 s, which is what SIGTERM may take, a shutdown ends the requests whose payloads take long to read.
func TestShutdownWhileReading(t *testing.T) {
	const clients, reading = 64, 16
	r := runWaiting(t, time.Minute, func(_ *Config, s *ServerConfig) {
		s.MaxConcurrentRequests, s.MaxConcurrentRequestsPerTenant = reading, reading
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
		return tenant != nil && tenant.requests > clients/2 // Most wait: those that are read now may all end before the shutdown.
	}, time.Minute, time.Millisecond)
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
	}, time.Minute, time.Millisecond)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// runRemote fetches from a target. change changes the configuration.
func runRemote(t *testing.T, host *watchingHost, endpoint string, change func(*Config, *RemoteConfig)) *running {
	t.Helper()
	cfg, section := remoteConfig(endpoint)
	if change != nil {
		change(cfg, section)
	}
	return runConfig(t, host, cfg)
}

// TestRemoteReplay fetches recorded answers of Go's endpoints.
func TestRemoteReplay(t *testing.T) {
	payloads := map[string]profiletest.ClientPayload{}
	for _, payload := range payloadsOf(t, "std-net-http-pprof/") {
		payloads[payload.File] = payload
	}
	names := map[string]string{
		"allocs": "allocs", "block": "block", "goroutine": "goroutine", "heap": "heap", "mutex": "mutex",
		"profile_seconds_1": "cpu", "delta_heap": "",
	}
	for _, c := range profiletest.Captures(t) {
		kind, ok := strings.CutPrefix(c.Name, "std-net-http-pprof/")
		if !ok {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			to := newTarget(t, func(w http.ResponseWriter, _ *http.Request) {
				for name, values := range c.Header {
					if name != "Transfer-Encoding" && name != "Content-Length" {
						w.Header()[name] = values
					}
				}
				_, _ = w.Write(c.Body)
			})
			path := "/debug/pprof/" + kind
			if kind == "profile_seconds_1" {
				path = "/debug/pprof/profile?seconds=1"
			}
			r := runRemote(t, &watchingHost{}, to.URL+path, nil)
			if payloads[c.Name].Legacy {
				r.waitOutcome(t, "bad_answer", 1)
				assert.Empty(t, r.sink.all(), "text is not a profile")
				return
			}
			pd := r.sink.wait(t, 1)[0]
			resource := pd.ResourceProfiles().At(0)
			assertPayload(t, payloads[c.Name], pd.Dictionary(), resource.ScopeProfiles().At(0))
			assert.Equal(t, names[kind], profileNames(pd.Dictionary(), resource.ScopeProfiles().At(0))[0])
			assert.Equal(t, map[string]any{"server.address": "127.0.0.1", "server.port": portOf(t, to.URL)}, resource.Resource().Attributes().AsRaw())
		})
	}
}

func portOf(t *testing.T, text string) int64 {
	t.Helper()
	parsed := must.Get(url.Parse(text))(t)
	port := must.Get(strconv.ParseInt(parsed.Port(), 10, 64))(t)
	return port
}

// TestRemoteRounds fetches repeatedly, and counts the fetches.
func TestRemoteRounds(t *testing.T) {
	to := newTarget(t, serve(gz(t, plain(t, cpuProfile(2)))))
	host := &watchingHost{}
	r := runRemote(t, host, to.URL+"/debug/pprof/profile?seconds=1", func(cfg *Config, c *RemoteConfig) {
		cfg.ResourceAttributes = map[string]any{"service.name": "checkout"}
	})
	for _, message := range r.sink.wait(t, 3) {
		service, _ := message.ResourceProfiles().At(0).Resource().Attributes().Get("service.name")
		assert.Equal(t, "checkout", service.Str())
		assert.Equal(t, map[string]int64{"samples/count": 3, "cpu/nanoseconds": 30_000_000}, sums(message))
	}
	r.waitOutcome(t, "ok", 3)
	assert.Equal(t, []string{"remote"}, sortedKeys(r.counts("otelcol_receiver_pprof_payloads", "api")))
	assert.Equal(t, componentstatus.StatusOK, host.waitFor(t, componentstatus.StatusOK).Status())
	metric := must.Get(r.telemetry.GetMetric("otelcol_receiver_accepted_profile_samples"))(t)
	assert.NotNil(t, metric)
}

// TestRemoteFailures: the component status has the error, and recovers.
func TestRemoteFailures(t *testing.T) {
	good := serve(gz(t, plain(t, cpuProfile(1))))
	for name, c := range map[string]struct {
		respond http.HandlerFunc
		outcome string
		says    string
	}{
		"status": {outcome: "bad_answer", says: `status 500: "Could not enable CPU profiling: cpu profiling already in use"`, respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Go-Pprof", "1")
			http.Error(w, "Could not enable CPU profiling: cpu profiling already in use", http.StatusInternalServerError)
		}},
		"not found": {outcome: "bad_answer", says: "status 404", respond: http.NotFound},
		"text": {outcome: "bad_answer", says: `it is text/plain, not a profile: "heap profile: 1: 2 [3: 4] @ heap/1048576"`, respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, "heap profile: 1: 2 [3: 4] @ heap/1048576\n1: 2 [3: 4] @ 0x1\n")
		}},
		"page": {outcome: "bad_answer", says: "not a profile", respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = io.WriteString(w, "\n <!DOCTYPE html><html><body>login</body></html>")
		}},
		"long type": {outcome: "bad_answer", says: "it is text/aaa", respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/"+strings.Repeat("a", 50_000))
			_, _ = io.WriteString(w, "x")
		}},
		"strange type": {outcome: "bad_answer", says: "it is text/ b=aaa", respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/ b="+strings.Repeat("a", 50_000))
			_, _ = io.WriteString(w, "x")
		}},
		"large header": {outcome: "unreachable", says: "server response headers exceeded 65536 bytes", respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Some", strings.Repeat("a", 100_000))
			serve(gz(t, plain(t, cpuProfile(1))))(w, nil)
		}},
		"empty":   {outcome: "bad_answer", says: "empty", respond: func(http.ResponseWriter, *http.Request) {}},
		"garbage": {outcome: "malformed", says: "malformed", respond: serve([]byte("\x00\x01\x02"))},
		"large":   {outcome: "too_large", says: "max_response_size, 10000 bytes", respond: serve(make([]byte, 10_001))},
		"bomb":    {outcome: "too_large", says: "67108864", respond: serve(gz(t, gzipBomb(t)))},
		"broken answer": {outcome: "unreachable", says: "cannot read the answer", respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "x")
		}},
		"slow": {outcome: "unreachable", says: "exceeded", respond: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	} {
		t.Run(name, func(t *testing.T) {
			to := newTarget(t, c.respond)
			host := &watchingHost{}
			r := runRemote(t, host, to.URL+"/debug/pprof/heap", func(_ *Config, cfg *RemoteConfig) {
				cfg.MaxResponseSize = 10_000
				if name == "slow" {
					cfg.HTTP.Timeout = 50 * time.Millisecond
				}
			})
			r.waitOutcome(t, c.outcome, 1)
			event := host.waitFor(t, componentstatus.StatusRecoverableError)
			require.ErrorContains(t, event.Err(), c.says)
			require.ErrorContains(t, event.Err(), to.URL+"/debug/pprof/heap: ")
			assert.Less(t, len(event.Err().Error()), 1000)
			assert.Empty(t, r.sink.all())
			to.then(good)
			host.waitFor(t, componentstatus.StatusOK)
			r.sink.wait(t, 1)
		})
	}
	t.Run("no listener", func(t *testing.T) {
		host := &watchingHost{}
		r := runRemote(t, host, "http://127.0.0.1:1/debug/pprof/heap", nil)
		r.waitOutcome(t, "unreachable", 1)
		require.ErrorContains(t, host.waitFor(t, componentstatus.StatusRecoverableError).Err(), "connection refused")
	})
}

// TestRemoteBodyIsClosed: all rounds use one connection, since answers are read completely and closed.
func TestRemoteBodyIsClosed(t *testing.T) {
	to := newTarget(t, serve(gz(t, plain(t, cpuProfile(1)))))
	connections := map[string]bool{}
	to.then(func(w http.ResponseWriter, r *http.Request) {
		connections[r.RemoteAddr] = true
		serve(gz(t, plain(t, cpuProfile(1))))(w, r)
	})
	r := runRemote(t, &watchingHost{}, to.URL, nil)
	r.sink.wait(t, 10)
	require.NoError(t, r.receiver.Shutdown(t.Context()))
	assert.Len(t, connections, 1)
}

// TestRemoteTimeout: without a configured timeout, it includes the seconds in the URL.
func TestRemoteTimeout(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"": 0, "?seconds=30": 30 * time.Second, "?seconds=0.5": 500 * time.Millisecond, "?seconds=-1": 0, "?seconds=x": 0, "?seconds=1e300": 0, "?a=b&seconds=2": 2 * time.Second,
	} {
		parsed := must.Get(url.Parse("http://a/debug/pprof/profile" + query))(t)
		assert.Equal(t, want, secondsOf(parsed), query)
	}
}

// TestLateShutdown: the shutdown does not wait beyond its deadline.
func TestLateShutdown(t *testing.T) {
	to := newTarget(t, serve(plain(t, cpuProfile(1))))
	entered, release := make(chan struct{}), make(chan struct{})
	cfg, _ := remoteConfig(to.URL)
	r := runInto(t, componenttest.NewNopHost(), cfg, &sink{consume: func(context.Context) error {
		entered <- struct{}{}
		<-release
		return errors.New("late")
	}})
	<-entered
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	require.ErrorIs(t, r.receiver.Shutdown(ctx), context.DeadlineExceeded)
	close(release)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/internal/testkit/httpclienttest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// taken is a request that the sink accepted.
type taken struct {
	path, query string
	header      http.Header
	body        []byte
}

// content returns the services and times of the profiles in a request.
func (r taken) content(t *testing.T) string {
	t.Helper()
	query, err := url.ParseQuery(r.query)
	require.NoError(t, err)
	body := r.body
	if _, parameters, _ := mime.ParseMediaType(r.header.Get("Content-Type")); parameters["boundary"] != "" {
		part, err := multipart.NewReader(bytes.NewReader(body), parameters["boundary"]).NextPart()
		require.NoError(t, err)
		body, err = io.ReadAll(part)
		require.NoError(t, err)
	}
	return fmt.Sprint(query.Get("service.name"), query.Get("name"), deliverytest.Parsed(t, body).TimeNanos)
}

// sink is a server with configured answers. It keeps the requests that it accepted with 200.
type sink struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(request int) int // the status; 0 cuts the connection after the request, -1 in the middle of it
	seen   int
	took   []taken
}

func newSink(t *testing.T, answer func(request int) int) *sink {
	t.Helper()
	s := &sink{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *sink) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := http.StatusOK
	if s.answer != nil {
		status = s.answer(s.seen)
	}
	s.seen++
	if status == -1 {
		_, _ = io.CopyN(io.Discard, r.Body, 1000)
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<24))
	switch {
	case err != nil:
	case status == 0:
		panic(http.ErrAbortHandler)
	case status == http.StatusOK:
		s.took = append(s.took, taken{path: r.URL.Path, query: r.URL.RawQuery, header: r.Header, body: body})
	default:
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, "no\nmore", status)
	}
}

func (s *sink) requests() []taken {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took
}

// counted returns the sum of a counter over the points with an attribute, or over all points.
func counted(t *testing.T, telemetry *componenttest.Telemetry, name, key, value string) int64 {
	t.Helper()
	return deliverytest.Counted(t, telemetry, "otelcol_exporter_pprof_"+name, key, value)
}

func retrying(cfg *Config) {
	cfg.RetryConfig = configretry.NewDefaultBackOffConfig()
	cfg.RetryConfig.MaxElapsedTime = 0
	cfg.RetryConfig.InitialInterval, cfg.RetryConfig.MaxInterval = time.Millisecond, 5*time.Millisecond
}

func TestHTTPRaw(t *testing.T) {
	s := newSink(t, nil)
	p := newPushing(t, s.URL+"/up/{service.name}", func(cfg *Config) {
		cfg.HTTP.Get().ResourceHeaders = map[string]string{"X-Env": "env={deployment.environment.name}", "X-None": "{none}"}
		cfg.HTTP.Get().QueryResource = true
		cfg.HTTP.Get().Tenant.Default = "team-a"
	})
	pd := deliverytest.Decode(t, deliverytest.OwnProfile(t, "cpu.pb.gz"), map[string]any{"service.name": "a/b &c", "deployment.environment.name": "x\ny"})
	require.NoError(t, p.ConsumeProfiles(t.Context(), pd))
	require.Len(t, s.requests(), 1)
	got := s.requests()[0]
	assert.Equal(t, "/up/a_b &c", got.path)
	assert.Equal(t, "resource.deployment.environment.name=x%0Ay&service.name=a%2Fb+%26c", got.query)
	assert.Equal(t, "env=x_y", got.header.Get("X-Env"))
	assert.NotContains(t, got.header, "X-None", "a header without its value is not sent")
	assert.Equal(t, "team-a", got.header.Get("X-Scope-OrgID"))
	assert.Equal(t, "application/octet-stream", got.header.Get("Content-Type"))
	assert.Empty(t, profiletest.DiffPprof(deliverytest.Parsed(t, deliverytest.OwnProfile(t, "cpu.pb.gz")), deliverytest.Parsed(t, got.body)))
	assert.EqualValues(t, len(got.body), counted(t, p.telemetry, "bytes_sent", "", ""))
	assert.EqualValues(t, 1, counted(t, p.telemetry, "requests", "outcome", "sent"))
	assert.EqualValues(t, 2, counted(t, p.telemetry, "profiles_written", "", ""))
}

// The tenant is that of the client, if it names one. A value that is invalid in a header causes no error.
func TestHTTPTenant(t *testing.T) {
	s := newSink(t, nil)
	p := newPushing(t, s.URL, func(cfg *Config) {
		cfg.HTTP.Get().Tenant = options.TenantConfig{Header: "X-Tenant", MetadataKey: "x-scope-orgid", Default: "nobody"}
	})
	ctx := client.NewContext(t.Context(), client.Info{Metadata: client.NewMetadata(map[string][]string{"X-Scope-OrgID": {"team\r\nb"}})})
	require.NoError(t, p.ConsumeProfiles(ctx, deliverytest.CPU(t, "a")))
	require.NoError(t, p.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	require.Len(t, s.requests(), 2)
	assert.Equal(t, "team__b", s.requests()[0].header.Get("X-Tenant"))
	assert.Equal(t, "nobody", s.requests()[1].header.Get("X-Tenant"))
}

// several returns profiles of several services, with two pprofs each.
func several(t *testing.T, services int) pprofile.Profiles {
	t.Helper()
	var parts []pprofile.Profiles
	for i := range services {
		one := deliverytest.CPU(t, "s"+strconv.Itoa(i))
		second := pprofile.NewProfiles()
		one.CopyTo(second)
		for _, p := range second.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
			p.SetTime(p.Time() + 1e9)
		}
		whole := deliverytest.Request(t, one, second)
		// Two resources are equal, so that a request ends in the middle of a resource.
		from := whole.ResourceProfiles().At(1).ScopeProfiles()
		from.MoveAndAppendTo(whole.ResourceProfiles().At(0).ScopeProfiles())
		kept := 0
		whole.ResourceProfiles().RemoveIf(func(pprofile.ResourceProfiles) bool { kept++; return kept == 2 })
		parts = append(parts, whole)
	}
	return deliverytest.Request(t, parts...)
}

// Whatever fails, each profile arrives once, or is counted with its reason.
func TestHTTPFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		statuses          []int // of the first requests, all others are taken
		refused, repeated int64
	}{
		"down for a while":          {statuses: []int{0, 0, 503, 500, 0}, repeated: 5},
		"cut in the middle":         {statuses: []int{200, 200, 200, 0, 200, 502}, repeated: 2},
		"cut while it is sent":      {statuses: []int{-1, 200, -1, -1}, repeated: 3},
		"too many":                  {statuses: []int{200, 429, 200}, repeated: 1},
		"one is rejected":           {statuses: []int{200, 400}, refused: 1},
		"one is too large":          {statuses: []int{413}, refused: 1},
		"rejected, then a failure":  {statuses: []int{422, 200, 0, 200, 400, 500}, refused: 2, repeated: 2},
		"not allowed, all the time": {statuses: []int{401, 401, 403, 401, 401, 404}, refused: 6},
	} {
		for _, format := range []string{FormatRaw, FormatPyroscope} {
			t.Run(name+"/"+format, func(t *testing.T) {
				s := newSink(t, func(i int) int {
					if i < len(tt.statuses) {
						return tt.statuses[i]
					}
					return http.StatusOK
				})
				p := newPushing(t, s.URL, func(cfg *Config) { retrying(cfg); cfg.HTTP.Get().Format = format })
				err := p.ConsumeProfiles(t.Context(), several(t, 3))
				switch {
				case tt.refused == 0:
					require.NoError(t, err)
				case tt.repeated == 0:
					require.True(t, consumererror.IsPermanent(err))
				}
				assert.Len(t, s.requests(), 6-int(tt.refused))
				contents := map[string]int{}
				for _, r := range s.requests() {
					contents[r.content(t)]++
				}
				assert.Len(t, contents, 6-int(tt.refused), "each arrives once: %v", contents)
				assert.Equal(t, tt.refused*2, counted(t, p.telemetry, "profiles_refused", "reason", refusedRejected))
				assert.Equal(t, tt.repeated, counted(t, p.telemetry, "requests", "outcome", outcomeRetry))
				assert.Equal(t, 12-tt.refused*2, counted(t, p.telemetry, "profiles_written", "", ""))
			})
		}
	}
}

// The exporter waits as long as Retry-After says: one second, or longer on a slow machine.
func TestHTTPRetryAfter(t *testing.T) {
	var at []time.Time
	s := newSink(t, func(i int) int {
		at = append(at, time.Now())
		return []int{429, 200}[min(i, 1)]
	})
	p := newPushing(t, s.URL, retrying)
	require.NoError(t, p.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	require.Len(t, at, 2)
	assert.Greater(t, at[1].Sub(at[0]), 900*time.Millisecond, "retrying would wait 5 ms")
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "-1": 0, "soon": 0, "7": 7 * time.Second, "999999": maxRetryAfter,
		"Sat, 21 Nov 2026 12:00:30 GMT": 30 * time.Second, "Sat, 21 Nov 2026 11:00:00 GMT": 0,
	} {
		assert.Equal(t, want, retryAfter(text, now, maxRetryAfter), text)
	}
	assert.Equal(t, time.Hour, maxRetryAfter)
}

// A backend that asks for a longer wait than the exporter may retry gets the profiles as soon as it is well again.
func TestHTTPLongRetryAfter(t *testing.T) {
	s := newSink(t, nil)
	var requests atomic.Int32
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.serve(w, r)
	}))
	t.Cleanup(busy.Close)
	p := newPushing(t, busy.URL, func(cfg *Config) {
		retrying(cfg)
		cfg.RetryConfig.MaxElapsedTime = 8 * time.Second
	})
	require.NoError(t, p.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	assert.Len(t, s.requests(), 1)
	for elapsed, want := range map[time.Duration]time.Duration{
		0: maxRetryAfter, 5 * time.Minute: 75 * time.Second, 24 * time.Hour: maxRetryAfter,
	} {
		assert.Equal(t, want, longestWait(configretry.BackOffConfig{MaxElapsedTime: elapsed}), elapsed)
	}
}

// One attempt fails with a retryable error.
func TestHTTPSlow(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	p := newPushing(t, server.URL, func(cfg *Config) { cfg.TimeoutConfig.Timeout = 50 * time.Millisecond })
	err := p.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a"))
	require.ErrorContains(t, err, "cannot send profiles")
	assert.NotContains(t, err.Error(), server.Listener.Addr().String(), "a URL can have a secret")
	assert.False(t, consumererror.IsPermanent(err))
}

// Of an answer without an end only the beginning is read: an accepted request has succeeded, and another one is retried.
func TestHTTPEndlessAnswer(t *testing.T) {
	const most = 32 << 20 // what can be in the buffers of both ends, and more
	for status, failure := range map[int]string{http.StatusOK: "", http.StatusInternalServerError: "the destination answered 500"} {
		written := make(chan int, 1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(status)
			sum, text := 0, bytes.Repeat([]byte("x"), maxAnswer)
			for sum < 2*most {
				n, err := w.Write(text)
				sum += n
				if err != nil {
					break
				}
			}
			written <- sum
		}))
		p := newPushing(t, server.URL, func(cfg *Config) { cfg.TimeoutConfig.Timeout = deliverytest.Patience })
		err := p.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a"))
		if failure == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, failure)
			assert.False(t, consumererror.IsPermanent(err))
		}
		assert.Less(t, <-written, most)
		server.Close()
	}
}

// A redirect is followed if it keeps the body and the host. Otherwise the profiles count as rejected.
func TestHTTPRedirect(t *testing.T) {
	s := newSink(t, nil)
	for status, taken := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		paths := http.NewServeMux()
		paths.Handle("/", http.RedirectHandler("/there", status))
		paths.Handle("/there", s.Config.Handler)
		redirecting := httptest.NewServer(paths)
		p := newPushing(t, redirecting.URL, nil)
		before := len(s.requests())
		err := p.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a"))
		if taken {
			require.NoError(t, err)
			assert.Len(t, s.requests(), before+1)
		} else {
			require.ErrorContains(t, err, strconv.Itoa(status))
			assert.True(t, consumererror.IsPermanent(err))
			assert.EqualValues(t, 2, counted(t, p.telemetry, "profiles_refused", "reason", refusedRejected))
		}
		redirecting.Close()
	}
	before := len(s.requests())
	for _, elsewhere := range []string{s.URL, strings.Replace(s.URL, "127.0.0.1", "localhost", 1)} { // Another port, another host.
		away := httptest.NewServer(http.RedirectHandler(elsewhere, http.StatusTemporaryRedirect))
		require.ErrorContains(t, newPushing(t, away.URL, nil).ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")), "307")
		away.Close()
	}
	assert.Len(t, s.requests(), before)
	loop := httptest.NewServer(http.RedirectHandler("/", http.StatusTemporaryRedirect))
	defer loop.Close()
	p := newPushing(t, loop.URL, nil)
	require.ErrorContains(t, p.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")), "307")
}

// A profile that is lost after its sender got the answer is logged. An error that does not depend on the profile shows in the
// status.
func TestHTTPRejectionIsSeen(t *testing.T) {
	s := newSink(t, func(i int) int { return []int{400, 400, 413, 400, 401, 401, 200}[i] })
	core, logs := observer.New(zapcore.WarnLevel)
	set := exportertest.NewNopSettings(metadata.Type)
	set.Logger = zap.New(core)
	e, err := NewFactory().CreateProfiles(t.Context(), set, directHTTP(s.URL))
	require.NoError(t, err)
	host := newRecorder()
	require.NoError(t, e.Start(t.Context(), host))
	for _, service := range []string{"a", "a", "a", "b"} { // 400, 400, 413, 400
		require.ErrorContains(t, e.ConsumeProfiles(t.Context(), deliverytest.CPU(t, service)), "no more", "the answer, on one line")
	}
	assert.Empty(t, host.statuses(), "others may be taken")
	for range 2 { // 401
		require.Error(t, e.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "c")))
	}
	assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError}, host.statuses())
	require.NoError(t, e.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "c")))
	assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, host.statuses())
	require.NoError(t, e.Shutdown(t.Context()))
	var logged []string
	for _, entry := range logs.FilterMessageSnippet("Dropped profiles").All() {
		fields := entry.ContextMap()
		logged = append(logged, fmt.Sprint(fields["service"], " ", fields["reason"], " ", fields["profiles"]))
	}
	assert.Equal(t, []string{"a rejected 2", "b rejected 2", "c rejected 2"}, logged, "once for each service in a minute")
}

// After a shutdown, the server has no connection of the exporter.
func TestHTTPIdleConnections(t *testing.T) {
	url, open := httpclienttest.NewServer(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	e := create(t, directHTTP(url))
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, e.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	assert.Positive(t, open())
	require.NoError(t, e.Shutdown(t.Context()))
	assert.Eventually(t, func() bool { return open() == 0 }, time.Minute, time.Millisecond)
}

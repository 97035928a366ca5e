// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/client"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/connections"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// readingGrace is how long the payloads of a request can still be read after the shutdown begins.
const readingGrace = 3 * time.Second

// handler routes requests to the APIs.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	paths := slices.Sorted(maps.Keys(s.byPath))
	for _, path := range paths {
		one := s.byPath[path]
		if path == "/" {
			path = "/{$}" // nothing below it
		}
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { s.serveAPI(w, r, one) })
	}
	known := strings.Join(paths, ", ")
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, s.unknown, newRefusal(unknownPath, "unknown path %.256q, there are: %s", r.URL.Path, known))
	})
	return singleSlashes(mux)
}

// singleSlashes passes requests on without repeated slashes in the path: clients add their path to a URL that ends with one. A mux would
// redirect them, which not all clients follow.
func singleSlashes(next http.Handler) http.Handler {
	repeated := regexp.MustCompile("/{2,}")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "//") {
			target := *r.URL
			target.Path, target.RawPath = repeated.ReplaceAllString(target.Path, "/"), ""
			r = r.WithContext(r.Context()) // a copy
			r.URL = &target
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) serveAPI(w http.ResponseWriter, r *http.Request, one *api) {
	ctx := s.obs.StartProfilesOp(s.withTenant(r.Context(), r))
	samples, err := s.process(ctx, w, r, one)
	err = s.shutdownError(err)
	failed := err
	if _, partial := errors.AsType[*partialError](err); partial {
		failed = nil // samples counts those that were accepted.
	}
	s.obs.EndProfilesOp(ctx, obsFormat, samples, failed)
	if err != nil {
		s.refuse(w, r, one, err)
		return
	}
	one.succeed(w, r)
}

// process reads a request, translates its payloads and passes them to the next consumer. It returns the number of samples.
func (s *server) process(ctx context.Context, w http.ResponseWriter, r *http.Request, one *api) (samples int, err error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return 0, newRefusal(wrongMethod, "method %.16s not allowed, supported: [POST]", r.Method)
	}
	if err := s.checkAllowed(r.Header); err != nil {
		return 0, err
	}
	if r.ContentLength > s.cfg.HTTP.MaxRequestBodySize {
		return 0, bodyTooLarge(s.cfg.HTTP.MaxRequestBodySize)
	}
	// Reading ends early if the client leaves, or readingGrace after the shutdown begins.
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.endOnShutdown(readingGrace, cancel)()
	m, err := s.intake.begin(reading, headerBytes(r), func() {
		// A connection without deadlines is read until the timeout of the server.
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	})
	if err != nil {
		return 0, err
	}
	defer m.arrival.Release()
	body, err := m.read(reading, r.Body, r.ContentLength)
	if err != nil {
		return 0, bodyError(err)
	}
	release, err := s.acquire(reading, r)
	if err != nil {
		return 0, err
	}
	m.leave = sync.OnceFunc(release)
	defer m.leave()
	if body, err = s.decode(r, m, body); err != nil {
		return 0, err
	}
	payloads := &batch{in: s.intake, metrics: one.metrics, memory: m}
	if err := one.read(reading, r, payloads, body); err != nil {
		return 0, err
	}
	return payloads.deliver(ctx)
}

// acquire waits until a request can be processed. When the server shuts down, it waits as long as requests can still arrive.
func (s *server) acquire(ctx context.Context, r *http.Request) (release func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.endOnShutdown(connections.ShutdownGrace, cancel)()
	return s.limiter.acquire(ctx, tenantOf(s.cfg.TenantFrom, r))
}

// endOnShutdown calls cancel when the shutdown began this long ago, unless stop is called before the shutdown begins.
func (s *server) endOnShutdown(grace time.Duration, cancel func()) (stop func() bool) {
	return context.AfterFunc(s.stopping, func() { time.AfterFunc(grace, cancel) })
}

// requestBytes is the memory of a request that has only begun: a goroutine, buffers, an HTTP/2 stream.
const requestBytes = 24 << 10

// headerBytes estimates the memory of a request without its body: the header and the parsed query.
func headerBytes(r *http.Request) int64 {
	bytes := 2 * len(r.RequestURI)
	for name, values := range r.Header {
		bytes += len(name)
		for _, value := range values {
			bytes += len(value)
		}
	}
	return requestBytes + 2*int64(bytes)
}

// newSource returns the source of the profiles, from the configuration, headers and query, see [setFromQuery]. The API can override it.
func (s *server) newSource(r *http.Request, known []string) (pprof.Source, error) {
	source := s.intake.newSource()
	err := setFromHeaders(source.Resource, r.Header, s.cfg.ResourceHeaders)
	if err == nil {
		err = setFromQuery(&source, r.URL.RawQuery, known)
	}
	return source, err
}

// shutdownError returns a retryable error if the shutdown caused err: the request did not arrive in time, or it would have
// had to wait.
func (s *server) shutdownError(err error) error {
	if err == nil || s.stopping.Err() == nil {
		return err
	}
	if class := classOf(err); class == tooSlow || class == aborted {
		return newRefusal(busy, "the receiver is shutting down: %w", err)
	}
	return err
}

// refuse counts the error of a request and answers with it.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, one *api, err error) {
	class := classOf(err)
	f := failure{refusalClass: class, text: err.Error()}
	one.metrics.refused(r.Context(), class)
	s.set.Logger.Debug("Refused a request", zap.String("api", one.name), zap.String("reason", class.reason), zap.Error(err))
	if errors.Is(err, memory.ErrStalled) {
		connections.CloseAfter(w, r)
	}
	if class.retryable {
		w.Header().Set("Retry-After", retryAfter)
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) { // Otherwise reading has ended.
		s.drain(w, r)
	}
	one.fail(w, r, f)
}

// drainedBytes limits how much of a refused body is read, and drainTime for how long: read_timeout can be much longer, or 0. maxDrains limits how
// many are read at a time: their memory counts nowhere.
const (
	drainedBytes = 2 << 20
	drainTime    = 2 * time.Second
	maxDrains    = 500
)

// drain reads the rest of a refused body: a client that is still writing when the connection closes may not get the answer.
// Over HTTP/2 only the stream ends, but curl does not get the answer then either.
func (s *server) drain(w http.ResponseWriter, r *http.Request) {
	defer s.drains.Add(-1)
	if s.drains.Add(1) > maxDrains {
		return
	}
	if http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime)) == nil {
		_, _ = io.CopyN(io.Discard, r.Body, drainedBytes)
	}
}

// refuseUnauthenticated answers requests that the authenticator refuses. confighttp decodes nothing, so it has no other errors.
func (s *server) refuseUnauthenticated(w http.ResponseWriter, r *http.Request, text string, _ int) {
	one, known := s.byPath[r.URL.Path]
	if !known {
		one = s.unknown
	}
	s.refuse(w, r, one, newRefusal(notAllowed, "%s", text))
}

// withTenant adds the tenant of a request to the client metadata, for processors and exporters that separate tenants.
// With include_metadata it is there already.
func (s *server) withTenant(ctx context.Context, r *http.Request) context.Context {
	tenant := r.Header.Values(tenantHeader)
	if len(tenant) == 0 || s.cfg.HTTP.IncludeMetadata {
		return ctx
	}
	info := client.FromContext(ctx)
	info.Metadata = client.NewMetadata(map[string][]string{tenantHeader: tenant})
	return client.NewContext(ctx, info)
}

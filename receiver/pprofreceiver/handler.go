// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/waiting"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// shutdownGrace is the time that a request has to arrive once the server is shut down.
const shutdownGrace = time.Second

// format is what the standard metrics and spans of a receiver call the data.
const format = "pprof"

// api is one protocol of the server: where it is, what a request means, and the form of its answers.
type api struct {
	// way is the name in the metrics, metrics are those of this way.
	way     string
	metrics *way
	paths   []string
	// take adds what a request holds to payloads. body is only valid until it returns. An error is for all of it.
	take func(ctx context.Context, r *http.Request, payloads *batch, body []byte) error
	// succeed and fail write the answer, behind headers that are set already.
	succeed func(w http.ResponseWriter, r *http.Request)
	fail    func(w http.ResponseWriter, r *http.Request, f failure)
}

// failure is what is told of a request that was refused.
type failure struct {
	answer
	class class
	text  string
}

// newAPIs lists the protocols that are on.
func (s *server) newAPIs() []*api {
	all := []*api{}
	for _, one := range []struct {
		on  bool
		api *api
	}{
		{s.cfg.APIs.Pprof, s.rawAPI()},
		{s.cfg.APIs.PyroscopeIngest, s.ingestAPI()},
		{s.cfg.APIs.PyroscopePush, s.pushAPI()},
		{s.cfg.APIs.Datadog, s.datadogAPI()},
		{s.cfg.APIs.Parca, s.parcaAPI()},
	} {
		if one.on {
			one.api.metrics = newWay(s.intake.metrics, one.api.way)
			all = append(all, one.api)
		}
	}
	return all
}

// handler routes requests to the APIs.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	paths := slices.Sorted(maps.Keys(s.byPath))
	for _, path := range paths {
		protocol := s.byPath[path]
		mux.HandleFunc(exactly(path), func(w http.ResponseWriter, r *http.Request) { s.serveAPI(w, r, protocol) })
	}
	known := strings.Join(paths, ", ")
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, s.unknown, refuse(classUnknownPath, "unknown path %.256q, there are: %s", r.URL.Path, known))
	})
	return mux
}

// exactly is the pattern of a path and of nothing below it.
func exactly(path string) string {
	if path == "/" {
		return "/{$}"
	}
	return path
}

func (s *server) serveAPI(w http.ResponseWriter, r *http.Request, protocol *api) {
	ctx := s.obs.StartProfilesOp(s.withTenant(r.Context(), r))
	samples, err := s.takeRequest(ctx, w, r, protocol)
	err = s.lateError(err)
	if _, partial := errors.AsType[*partialError](err); partial {
		// Its samples are those that were accepted.
		s.obs.EndProfilesOp(ctx, format, samples, nil)
	} else {
		s.obs.EndProfilesOp(ctx, format, samples, err)
	}
	if err != nil {
		s.refuse(w, r, protocol, err)
		return
	}
	protocol.succeed(w, r)
}

// takeRequest reads a request and has it worked on.
func (s *server) takeRequest(ctx context.Context, w http.ResponseWriter, r *http.Request, protocol *api) (samples int, err error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return 0, refuse(classWrongMethod, "method %.16s not allowed, supported: [POST]", r.Method)
	}
	if r.ContentLength > s.cfg.HTTP.MaxRequestBodySize {
		return 0, bodyTooLarge(s.cfg.HTTP.MaxRequestBodySize)
	}
	defer s.hurryOnShutdown(w)()
	taken := s.intake.newMemory(ctx)
	defer taken.release()
	body, leave, err := s.receive(ctx, w, r, taken)
	if err != nil {
		return 0, err
	}
	leave = sync.OnceFunc(leave)
	defer leave()
	ctx = waiting.NewContext(ctx, leave)
	if body, err = s.decode(ctx, r, taken, body); err != nil {
		return 0, err
	}
	payloads := s.intake.newBatch(protocol.metrics, s.legacy, taken)
	if err := protocol.take(ctx, r, payloads, body); err != nil {
		return 0, err
	}
	return payloads.deliver(ctx)
}

// receive reads the body of a request, and takes a place when all of it has come. The place must be left.
func (s *server) receive(ctx context.Context, w http.ResponseWriter, r *http.Request, m *memory) (body []byte, leave func(), err error) {
	coming := &arrival{all: s.arriving, sender: r.Body, header: headerBytes(r), expire: func() {
		// A connection that has no deadlines is served without.
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	}}
	defer coming.end()
	if err := coming.begin(); err != nil {
		return nil, nil, err
	}
	if err := m.keep(ctx, coming.header); err != nil {
		return nil, nil, err
	}
	body, err = m.read(ctx, coming, r.ContentLength)
	if refusal := coming.whole(); refusal != nil {
		if s.stopping.Err() == nil {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime))
		}
		return nil, nil, refusal
	}
	if err != nil {
		return nil, nil, bodyError(err)
	}
	leave, err = s.places.take(ctx, s.cfg.TenantFrom.of(r))
	return body, leave, err
}

// headerBytes is about what the header of a request takes: its texts, and what is made of the query.
func headerBytes(r *http.Request) int64 {
	bytes := 2 * len(r.RequestURI)
	for name, values := range r.Header {
		bytes += len(name)
		for _, value := range values {
			bytes += len(value)
		}
	}
	return 2 * int64(bytes)
}

// newSource returns what configuration, headers and query say of the profiles of a request. What the API itself says of
// them comes over that.
func (s *server) newSource(r *http.Request) (pprof.Source, error) {
	source := s.intake.newSource()
	err := setFromHeaders(source.Resource, r.Header, s.headers)
	if err == nil {
		err = setFromQuery(&source, r.URL.RawQuery)
	}
	return source, err
}

// hurryOnShutdown gives a request little time to arrive from the moment on when the server is shut down: a sender that
// has nothing to say must not keep the rest of the Collector from ending. The result ends that.
func (s *server) hurryOnShutdown(w http.ResponseWriter) (stop func() bool) {
	return context.AfterFunc(s.stopping, func() {
		// A connection that has no deadlines is served without.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(shutdownGrace))
	})
}

// lateError is an error of a request, seen in the light of a shutdown that may have caused it: the deadline that the shutdown
// sets also ends the context of a request that has arrived, since the server goes on listening for the sender to leave.
func (s *server) lateError(err error) error {
	if err == nil || s.stopping.Err() == nil {
		return err
	}
	if class := classify(err); class == classTooSlow || class == classAborted {
		return refuse(classBusy, "the receiver is shutting down: %w", err)
	}
	return err
}

// refuse counts what went wrong and answers it.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, protocol *api, err error) {
	class := classify(err)
	f := failure{answer: answers[class], class: class, text: err.Error()}
	protocol.metrics.refused(r.Context(), class)
	s.set.Logger.Debug("Refused a request", zap.String("api", protocol.way), zap.String("reason", f.reason), zap.Error(err))
	if f.retryable {
		w.Header().Set("Retry-After", seconds(s.cfg.RetryAfter))
	}
	// A sender that still writes when the connection closes may never see the answer.
	_, _ = io.CopyN(io.Discard, r.Body, drainedBytes)
	protocol.fail(w, r, f)
}

// drainedBytes is how much of a refused body is still read. The read timeout bounds how long that takes, and drainTime for one
// that was refused before it had arrived.
const (
	drainedBytes = 2 << 20
	drainTime    = 2 * time.Second
)

// seconds rounds up: a sender that comes back too early is refused once more.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

func succeedEmpty(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

func failText(w http.ResponseWriter, _ *http.Request, f failure) { http.Error(w, f.text, f.status) }

// refuseEarly answers what confighttp refuses before a request comes to an API: failed authentication, and encodings
// that are unknown or broken at their start. It is told no more than a text.
func (s *server) refuseEarly(w http.ResponseWriter, r *http.Request, text string, status int) {
	class := classMalformed
	switch {
	case status != http.StatusBadRequest:
		class = classNotAllowed
	case strings.HasPrefix(text, "unsupported Content-Encoding"):
		class = classUnknownEncoding
	case strings.Contains(text, "too large"), strings.Contains(text, "exceeds max request body size"):
		class = classTooLarge
	}
	protocol, known := s.byPath[r.URL.Path]
	if !known {
		protocol = s.unknown
	}
	s.refuse(w, r, protocol, refuse(class, "%s", text))
}

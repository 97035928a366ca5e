// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/extension/extensionmiddleware"

	"github.com/otelpprof/otelpprof/internal/connections"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/otlpstatus"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/internal/wire/otlpwire"
)

const (
	// profilesPath is the end of the path of requests of profiles.
	profilesPath = "/profiles"
	// readCopies is how many copies of a body the handler holds at most while it reads the body.
	readCopies = 2
	// workFactor is the memory that a request usually needs in all, as a multiple of its body: these copies and the message.
	workFactor = 6
)

// GetHTTPHandler returns the middleware of servers for OTLP over HTTP.
func (m *memoryBudget) GetHTTPHandler(context.Context) (extensionmiddleware.WrapHTTPHandlerFunc, error) {
	return func(_ context.Context, next http.Handler) (http.Handler, error) {
		serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
		return connections.WithDeadline(m.stopping, m.config.ReceiveTimeout, serve), nil //nolint:contextcheck // requests outlive the start of the server
	}, nil
}

// serve calls next when the body of the request has arrived and there is memory for its message. A request that is not OTLP goes to next
// unchanged.
func (m *memoryBudget) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || err != nil || mediaType != otlpstatus.ProtoType && mediaType != otlpstatus.JSONType {
		next.ServeHTTP(w, r)
		return
	}
	request, err := m.budget.Arrive(r.Context(), requestBytes, func() {
		// A server that does not support this reads until the timeout.
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	})
	if err != nil {
		m.refuseHTTP(w, r, mediaType, err)
		return
	}
	defer request.Release()
	message, err := m.admit(r, mediaType, request)
	if err != nil {
		m.refuseHTTP(w, r, mediaType, err)
		return
	}
	defer message.Release()
	next.ServeHTTP(w, r.WithContext(memory.NewContext(r.Context(), message)))
}

// admit reads the body of a request, decompresses it, and counts its message. The handler reads the plain body then. The caller must
// release the message.
func (m *memoryBudget) admit(r *http.Request, mediaType string, request *memory.Arrival) (*memory.Reservation, error) {
	body, err := request.Read(r.Context(), r.Body, r.ContentLength, workFactor)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errTooSlow
	case err != nil && !errors.Is(err, io.EOF):
		if refusalOf(err) == malformed { // It is not of the budget or a limit, but of the connection.
			err = fmt.Errorf("%w: %w", errAborted, err)
		}
		return nil, err
	}
	plain, err := m.inflate(r, body, request)
	if err != nil {
		return nil, err
	}
	counted, err := countBody(r, mediaType, plain)
	if err != nil {
		return nil, err
	}
	message := messageMemory(int64(cap(plain)+readCopies*len(plain)), counted)
	if err := request.Resize(r.Context(), requestBytes+message); err != nil {
		return nil, err
	}
	if mediaType == otlpstatus.ProtoType && strings.HasSuffix(r.URL.Path, profilesPath) {
		otlpwire.ClearKeyReferences(plain)
	}
	r.Header.Del("Content-Encoding")
	r.Header.Del("Content-Length")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(plain)), int64(len(plain))
	return request.Split(message), nil
}

// inflate returns the decompressed body, unless the server has already decompressed it.
func (m *memoryBudget) inflate(r *http.Request, body []byte, request *memory.Arrival) ([]byte, error) {
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return body, nil
	case "gzip", "zstd":
		work := request.Meter(r.Context(), requestBytes+int64(cap(body)))
		plain, _, err := inflate.Into(nil, body, m.config.MaxInflatedMiB<<20, work)
		return plain, err
	default:
		return nil, fmt.Errorf("unsupported Content-Encoding %q, supported are gzip and zstd", encoding)
	}
}

// byPath has the signals by the ends of their paths.
var byPath = []struct {
	suffix string
	signal otlpwire.Signal
}{{"/logs", otlpwire.Logs}, {"/traces", otlpwire.Traces}, {"/metrics", otlpwire.Metrics}, {profilesPath, otlpwire.Profiles}}

// countBody returns how many bytes the unmarshalled body needs. If the path does not tell the signal, it is the most of all signals.
func countBody(r *http.Request, mediaType string, body []byte) (most int64, err error) {
	if mediaType == otlpstatus.JSONType {
		return otlpwire.CountJSON(body)
	}
	for _, one := range byPath {
		if strings.HasSuffix(r.URL.Path, one.suffix) {
			return otlpwire.Count(one.signal, body)
		}
	}
	for _, one := range byPath {
		counted, failed := otlpwire.Count(one.signal, body)
		if errors.Is(failed, otlpwire.ErrTooDeep) {
			return 0, failed
		}
		most, err = max(most, counted), failed
	}
	if most > 0 {
		err = nil
	}
	return most, err
}

// refuseHTTP answers a request that is refused.
func (m *memoryBudget) refuseHTTP(w http.ResponseWriter, r *http.Request, mediaType string, err error) {
	if errors.Is(err, memory.ErrStalled) {
		connections.CloseAfter(w, r)
	}
	refusal, s := m.refuse(r.Context(), err)
	if refusal.http == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
	}
	otlpstatus.Write(w, mediaType, refusal.http, s)
}

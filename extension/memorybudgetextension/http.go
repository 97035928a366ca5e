// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/connections"
	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/internal/otlpwire"
)

const (
	protoType = "application/x-protobuf"
	jsonType  = "application/json"
	// readCopies is how many copies of a body the handler holds at most while it reads the body.
	readCopies = 2
)

// GetHTTPHandler returns the middleware of servers for OTLP over HTTP.
func (m *memoryBudget) GetHTTPHandler(context.Context) (extensionmiddleware.WrapHTTPHandlerFunc, error) {
	return func(_ context.Context, next http.Handler) (http.Handler, error) {
		serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
		return connections.WithDeadline(m.stopping, m.config.ReceiveTimeout, serve), nil
	}, nil
}

// serve calls next when the body of the request has arrived and its memory is reserved. A request that is not OTLP goes to next
// unchanged.
func (m *memoryBudget) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || err != nil || mediaType != protoType && mediaType != jsonType {
		next.ServeHTTP(w, r)
		return
	}
	if err := checkVersion(r.Header.Values(versionHeader)); err != nil {
		m.refuseHTTP(w, r, mediaType, err)
		return
	}
	var reservation *budget.Reservation
	body, err := m.receive(w, r)
	if err == nil {
		reservation, err = m.admit(r, mediaType, &body)
	}
	if err != nil {
		m.refuseHTTP(w, r, mediaType, err)
		return
	}
	defer reservation.Release()
	r = r.WithContext(budget.NewContext(r.Context(), reservation))
	r.Header.Del("Content-Encoding")
	r.Header.Del("Content-Length")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body.plain)), int64(len(body.plain))
	body.plain = nil
	next.ServeHTTP(w, r)
}

// admit reserves the memory of a request. It makes the body one decompressed slice, body.plain. On an error nothing stays
// reserved.
func (m *memoryBudget) admit(r *http.Request, mediaType string, body *httpBody) (*budget.Reservation, error) {
	defer body.release()
	reservation, err := m.budget.Reserve(r.Context(), requestBytes+body.size)
	if err != nil {
		return nil, err
	}
	body.join()
	if err := m.inflate(r.Context(), r.Header.Get("Content-Encoding"), body, reservation); err != nil {
		reservation.Release()
		return nil, err
	}
	counted, err := m.count(r, mediaType, body.plain)
	total := requestBytes + counted + (1+readCopies)*int64(len(body.plain))
	if err == nil {
		err = reservation.Grow(r.Context(), total)
	}
	if err != nil {
		reservation.Release()
		return nil, err
	}
	reservation.Shrink(total)
	reservation.Keep(requestBytes)
	return reservation, nil
}

// inflate decompresses the body, unless the server has already done so.
func (m *memoryBudget) inflate(ctx context.Context, encoding string, body *httpBody, reservation *budget.Reservation) error {
	switch encoding {
	case "", "identity":
		return nil
	case "gzip", "zstd":
		compressed := body.plain
		var err error
		body.plain, err = inflate.AppendReserving(nil, compressed, m.config.MaxInflatedMiB<<20, func(bytes int) error {
			return reservation.Grow(ctx, requestBytes+int64(len(compressed))+int64(bytes))
		})
		return err
	default:
		return errors.New("unsupported Content-Encoding " + strconv.Quote(encoding) + ", supported are gzip and zstd")
	}
}

// count returns how many bytes the unmarshalled body needs.
func (m *memoryBudget) count(r *http.Request, mediaType string, body []byte) (int64, error) {
	if mediaType == jsonType {
		return otlpwire.CountJSON(body)
	}
	for suffix, signal := range map[string]otlpwire.Signal{
		"/logs": otlpwire.Logs, "/traces": otlpwire.Traces, "/metrics": otlpwire.Metrics, "/profiles": otlpwire.Profiles,
	} {
		if strings.HasSuffix(r.URL.Path, suffix) {
			return otlpwire.Count(signal, body)
		}
	}
	return m.countAny(body)
}

// countAny counts a body whose path does not tell the signal. It returns the largest count of all signals.
func (m *memoryBudget) countAny(body []byte) (most int64, err error) {
	for _, signal := range []otlpwire.Signal{otlpwire.Logs, otlpwire.Traces, otlpwire.Metrics, otlpwire.Profiles} {
		var counted int64
		counted, err = otlpwire.Count(signal, body)
		if errors.Is(err, otlpwire.ErrTooDeep) {
			return 0, err
		}
		most = max(most, counted)
	}
	if most == 0 {
		return 0, err
	}
	return most, nil
}

// refuseHTTP answers as the OTLP specification requires: with a google.rpc.Status in the media type of the request.
func (m *memoryBudget) refuseHTTP(w http.ResponseWriter, r *http.Request, mediaType string, err error) {
	refusal, s := m.refuse(r.Context(), err)
	w.Header().Set("Content-Type", mediaType)
	if refusal.http == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
	}
	w.WriteHeader(refusal.http)
	// If this fails, the client has disconnected.
	_, _ = w.Write(statusBody(mediaType, s)) // #nosec G705 -- The media type is protobuf or JSON.
}

func statusBody(mediaType string, s *status.Status) []byte {
	marshal := proto.Marshal
	if mediaType == jsonType {
		marshal = protojson.Marshal
	}
	body, err := marshal(s.Proto())
	if err != nil {
		return nil
	}
	return body
}

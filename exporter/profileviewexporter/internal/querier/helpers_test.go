// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/querier"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/selector"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// server is an API on a store.
type server struct {
	store *store.Store
	mux   *http.ServeMux
	// limit is the memory of a request.
	limit int64
}

var errTooLarge = errors.New("too large")

func newServer(tb testing.TB) *server {
	tb.Helper()
	s := &server{mux: http.NewServeMux(), limit: 1 << 30}
	s.store = store.New(store.Limits{Memory: 256 << 20, PerSeries: 1000}, func(store.Reason) {})
	api := &querier.Server{
		Source: query.Source{Store: s.store, TraceLabel: "trace_id", SpanLabel: "span_id"},
		Tenant: func(h http.Header) string { return h.Get("X-Scope-OrgID") },
		Begin: func(ctx context.Context) (*meter.Meter, func(), error) {
			return meter.New(0, func(bytes int64) error {
				if bytes > s.limit {
					return errTooLarge
				}
				return ctx.Err()
			}), func() {}, nil
		},
		Code: func(err error) connect.Code {
			switch {
			case errors.Is(err, selector.ErrInvalid):
				return connect.CodeInvalidArgument
			case errors.Is(err, errTooLarge), errors.Is(err, selector.ErrExpensive):
				return connect.CodeResourceExhausted
			}
			return connect.CodeInternal
		},
	}
	api.Handle(s.mux)
	return s
}

// add adds a pprof, with the time that it has.
func (s *server) add(tb testing.TB, profileType string, pprof []byte, attributes map[string]string) {
	tb.Helper()
	s.addAt(tb, profileType, pprof, attributes, time.Time{})
}

// addAt adds a pprof with another time.
func (s *server) addAt(tb testing.TB, profileType string, pprof []byte, attributes map[string]string, at time.Time) {
	tb.Helper()
	raw, err := inflate.Append(nil, pprof, 1<<30)
	require.NoError(tb, err)
	var parsed pprofwire.Profile
	require.NoError(tb, parsed.Read(raw, pprofwire.NoLimits()))
	resource := pcommon.NewMap()
	for key, value := range attributes {
		resource.PutStr(key, value)
	}
	if at.IsZero() {
		at = time.Unix(0, parsed.TimeNanos)
	}
	p, err := s.store.Add(store.Upload{
		Resource: store.NewResource("", resource), Type: profileType, Time: at,
		Duration: time.Duration(parsed.DurationNanos), Pprof: raw,
	}, nil)
	require.NoError(tb, err)
	require.NotNil(tb, p)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package querier serves Pyroscope's API for queries, querier.v1.QuerierService, from a store.
package querier // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/querier"

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
)

// Prefix is the start of the paths of all methods.
const Prefix = "/querier.v1.QuerierService/"

// Server answers requests.
type Server struct {
	Store *store.Store
	// Tenant returns the tenant of a request.
	Tenant func(http.Header) string
	// TraceLabel and SpanLabel are the labels of samples with the IDs. SpanLabel can be empty.
	TraceLabel, SpanLabel string
	// Begin waits until a request may work. The caller must call end after the work.
	Begin func(ctx context.Context) (reserve func(bytes int64) error, end func(), err error)
	// Code returns the code for an error that is not one of this package.
	Code func(err error) connect.Code
}

const (
	// maxRequest limits the size of a request, also after decompression.
	maxRequest = 64 << 10
	// leastCompressed is the least size of an answer that is compressed.
	leastCompressed = 1 << 10
)

// Handle adds the methods to a mux. Methods that are not offered answer unimplemented.
func (s *Server) Handle(mux *http.ServeMux) {
	handle(s, mux, "ProfileTypes", s.profileTypes)
	handle(s, mux, "LabelNames", s.labelNames)
	handle(s, mux, "LabelValues", s.labelValues)
	handle(s, mux, "Series", s.series)
	handle(s, mux, "SelectMergeStacktraces", s.selectMergeStacktraces)
	handle(s, mux, "SelectMergeSpanProfile", s.selectMergeSpanProfile)
	handle(s, mux, "SelectMergeProfile", s.selectMergeProfile)
	handle(s, mux, "SelectSeries", s.selectSeries)
	handle(s, mux, "Diff", s.diff)
	faults := connect.NewErrorWriter()
	mux.HandleFunc(Prefix, func(w http.ResponseWriter, r *http.Request) {
		_ = faults.Write(w, r, unimplemented("this method is not offered")) // the client can be disconnected
	})
}

// call is a request that works.
type call struct {
	context.Context
	server *Server
	tenant string
	// total reserves memory for the request, and kept is the part of it that stays in use.
	total func(bytes int64) error
	kept  int64
}

// reserve reserves memory for a part of the work, with the total of that part.
func (c *call) reserve(bytes int64) error { return c.total(c.kept + bytes) }

// keep reserves memory that stays in use until the answer is written.
func (c *call) keep(bytes int64) error {
	c.kept += bytes
	return c.total(c.kept)
}

func handle[Request, Response any](s *Server, mux *http.ServeMux, method string, answer func(*call, *Request) (*Response, error)) {
	mux.Handle(Prefix+method, connect.NewUnaryHandler(Prefix+method,
		func(ctx context.Context, r *connect.Request[Request]) (*connect.Response[Response], error) {
			reserve, end, err := s.Begin(ctx)
			if err != nil {
				return nil, s.fault(err)
			}
			defer end()
			response, err := answer(&call{Context: ctx, server: s, tenant: s.Tenant(r.Header()), total: reserve}, r.Msg)
			if err != nil {
				return nil, s.fault(err)
			}
			return connect.NewResponse(response), nil
		},
		connect.WithReadMaxBytes(maxRequest), connect.WithCompressMinBytes(leastCompressed)))
}

// fault returns an error with a code.
func (s *Server) fault(err error) error {
	known, found := err.(*connect.Error) //nolint:errorlint // Errors of this package are not wrapped.
	if !found {
		known = connect.NewError(s.Code(err), err)
	}
	if known.Code() == connect.CodeUnavailable {
		known.Meta().Set("Retry-After", "1")
	}
	return known
}

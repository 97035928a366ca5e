// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
)

func invalid(format string, arguments ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, arguments...))
}

func unimplemented(text string) error {
	return connect.NewError(connect.CodeUnimplemented, errors.New(text))
}

// times returns the time range of a request, in milliseconds. An end of 0 is no end.
func times(start, end int64) (from, until time.Time) {
	from, until = time.UnixMilli(max(start, 0)), store.Forever
	if end != 0 {
		until = time.UnixMilli(end)
	}
	return from, until
}

// request returns a request for the samples of a profile type.
func (c *call) request(typeID, labels string, start, end int64) *query.Request {
	r := &query.Request{Tenant: c.tenant, TypeID: typeID, Labels: labels}
	r.Start, r.End = times(start, end)
	return r
}

// ofStacktraces returns a request for what a request for stacks selects.
func (c *call) ofStacktraces(r *querierv1.SelectMergeStacktracesRequest) *query.Request {
	selecting := c.request(r.GetProfileTypeID(), r.GetLabelSelector(), r.GetStart(), r.GetEnd())
	selecting.TraceIDs, selecting.SpanIDs = r.GetTraceIdSelector(), r.GetSpanSelector()
	return selecting
}

// callSite returns the functions with which stacks must begin.
func callSite(s *typesv1.StackTraceSelector) (functions []string, err error) {
	if s.GetGoPgo() != nil {
		return nil, unimplemented("go_pgo is not offered: use /pgo/{service}")
	}
	for _, location := range s.GetCallSite() {
		functions = append(functions, location.GetName())
	}
	return functions, nil
}

// checkStacktraces returns an error if a request has a field that is not offered.
func checkStacktraces(r *querierv1.SelectMergeStacktracesRequest) error {
	switch {
	case r.GetAsync().GetType() != querierv1.AsyncQueryType_ASYNC_QUERY_TYPE_DISABLED || r.GetAsync().GetRequestId() != "":
		return unimplemented("async is not offered")
	case len(r.GetProfileIdSelector()) > 0:
		return unimplemented("profile_id_selector is not offered")
	}
	return nil
}

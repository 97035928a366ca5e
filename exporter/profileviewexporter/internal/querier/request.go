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

// times are the bounds of a request, both included.
type times struct{ start, end time.Time }

// timesOf returns the time range of a request, in milliseconds. An end of 0 is no end.
func timesOf(start, end int64) (t times, err error) {
	t = times{time.UnixMilli(max(start, 0)), store.Forever}
	if end != 0 {
		t.end = time.UnixMilli(end)
	}
	if t.end.Before(t.start) {
		return t, invalid("the start %d is after the end %d", start, end)
	}
	return t, nil
}

// selecting is a request for the samples of one profile type.
type selecting struct {
	typeID, labels    string
	start, end        int64
	traceIDs, spanIDs []string
}

// selection returns the samples that a request selects.
func (c *call) selection(r *selecting) (*query.Selection, times, error) {
	t, err := timesOf(r.start, r.end)
	if err != nil {
		return nil, t, err
	}
	s, err := c.server.Select(&query.Request{
		Tenant: c.tenant, TypeID: r.typeID, Labels: r.labels, Start: t.start, End: t.end, TraceIDs: r.traceIDs, SpanIDs: r.spanIDs,
	}, c.work)
	return s, t, err
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

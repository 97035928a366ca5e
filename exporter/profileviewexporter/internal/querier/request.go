// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/selector"
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
	t = times{time.UnixMilli(start), store.Forever}
	if end != 0 {
		t.end = time.UnixMilli(end)
	}
	if t.end.Before(t.start) {
		return t, invalid("the start %d is after the end %d", start, end)
	}
	return t, nil
}

// search returns the profiles of a time range that a filter does not exclude.
func (c *call) search(t times, filter *query.Filter) ([]*store.Profile, error) {
	if err := c.work.Use(filter.Bytes()); err != nil {
		return nil, err
	}
	profiles, _ := c.server.Store.Search(&store.Query{Tenant: c.tenant, Matches: func(p *store.Profile) bool {
		_, within := p.Within(t.start, t.end)
		return within && c.Err() == nil && filter.Profile(p)
	}})
	const profileBytes = 64
	if err := c.work.Use(profileBytes * int64(len(profiles))); err != nil {
		return nil, err
	}
	return profiles, filter.Err()
}

// typeParts is the number of parts of the ID of a profile type. Another part can say that the values are deltas.
const typeParts = 5

// checkType returns an error if a text is not the ID of a profile type.
func checkType(id string) (string, error) {
	parts := strings.Split(strings.TrimSuffix(id, ":delta"), ":")
	if len(parts) != typeParts {
		return "", invalid("a profile type must be <name>:<sample type>:<sample unit>:<period type>:<period unit>, %.100q has %d parts", id, len(parts))
	}
	return strings.TrimSuffix(id, ":delta"), nil
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
	id, err := checkType(r.typeID)
	if err != nil {
		return nil, t, err
	}
	selectors, err := selector.Parse(r.labels)
	if err != nil {
		return nil, t, err
	}
	traces, err := query.NewLink(c.server.TraceLabel, "trace", r.traceIDs, query.TraceBytes)
	if err != nil {
		return nil, t, err
	}
	spans, err := query.NewLink(c.server.SpanLabel, "span", r.spanIDs, query.SpanBytes)
	if err != nil {
		return nil, t, err
	}
	filter, err := query.NewFilter(selectors, traces, spans)
	if err != nil {
		return nil, t, err
	}
	profiles, err := c.search(t, filter)
	if err != nil {
		return nil, t, err
	}
	s := query.Select(profiles, filter, query.OfType(id))
	return s, t, c.work.Use(s.Bytes())
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

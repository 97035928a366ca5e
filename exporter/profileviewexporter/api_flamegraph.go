// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"cmp"
	"time"

	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"google.golang.org/protobuf/proto"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
)

// defaultNodes is the number of nodes of a flame graph if a request does not say it.
const defaultNodes = 8192

// newCriteria returns criteria for the samples of a profile type. Times are in milliseconds, and an end of 0 is no end.
func newCriteria(typeID, labels string, start, end int64) *criteria {
	by := &criteria{typeID: typeID, labels: labels, start: time.UnixMilli(max(start, 0)), end: store.Forever}
	if end != 0 {
		by.end = time.UnixMilli(end)
	}
	return by
}

// criteriaOf returns the criteria of a request for stacks. It returns an error if the request has a field that is not offered.
func criteriaOf(r *querierv1.SelectMergeStacktracesRequest) (*criteria, error) {
	switch {
	case r.GetAsync().GetType() != querierv1.AsyncQueryType_ASYNC_QUERY_TYPE_DISABLED || r.GetAsync().GetRequestId() != "":
		return nil, unimplemented("async is not offered")
	case len(r.GetProfileIdSelector()) > 0:
		return nil, unimplemented("profile_id_selector is not offered")
	case r.GetStackTraceSelector().GetGoPgo() != nil:
		return nil, unimplemented("go_pgo is not offered: use /pgo/{service}")
	}
	by := newCriteria(r.GetProfileTypeID(), r.GetLabelSelector(), r.GetStart(), r.GetEnd())
	by.traceIDs, by.spanIDs = r.GetTraceIdSelector(), r.GetSpanSelector()
	return by, nil
}

func (c *call) selectMergeStacktraces(r *querierv1.SelectMergeStacktracesRequest) (*querierv1.SelectMergeStacktracesResponse, error) {
	by, err := criteriaOf(r)
	if err != nil {
		return nil, err
	}
	switch r.GetFormat() {
	case querierv1.ProfileFormat_PROFILE_FORMAT_UNSPECIFIED, querierv1.ProfileFormat_PROFILE_FORMAT_FLAMEGRAPH:
		graph, err := c.draw(r, r.GetMaxNodes(), by)
		if err != nil {
			return nil, err
		}
		return &querierv1.SelectMergeStacktracesResponse{Flamegraph: &querierv1.FlameGraph{
			Names: graph.names, Levels: levelsOf(graph, 1), Total: graph.totals[0], MaxSelf: graph.maxSelf,
		}}, nil
	case querierv1.ProfileFormat_PROFILE_FORMAT_PPROF:
		if r.GetStackTraceSelector() != nil {
			return nil, unimplemented("stack_trace_selector is not offered for pprof")
		}
		profile, err := c.mergeProfile(by)
		return &querierv1.SelectMergeStacktracesResponse{Pprof: &querierv1.PprofProfile{Profile: profile}}, err
	}
	return nil, unimplemented("the format " + r.GetFormat().String() + " is not offered")
}

func (c *call) selectMergeSpanProfile(r *querierv1.SelectMergeSpanProfileRequest) (*querierv1.SelectMergeSpanProfileResponse, error) {
	same := &querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: r.GetProfileTypeID(), LabelSelector: r.GetLabelSelector(), SpanSelector: r.GetSpanSelector(),
		Start: r.GetStart(), End: r.GetEnd(), MaxNodes: r.MaxNodes, Format: r.GetFormat(),
	}
	if same.GetFormat() == querierv1.ProfileFormat_PROFILE_FORMAT_PPROF {
		return nil, unimplemented("the answer has no field for pprof")
	}
	answer, err := c.selectMergeStacktraces(same)
	return &querierv1.SelectMergeSpanProfileResponse{Flamegraph: answer.GetFlamegraph()}, err
}

// draw returns the drawing of one or two selections, with the call site of a request.
func (c *call) draw(r *querierv1.SelectMergeStacktracesRequest, maxNodes int64, sides ...*criteria) (*graph, error) {
	selections := make([]*selection, len(sides))
	for side, by := range sides {
		var err error
		if selections[side], err = c.selectSamples(by); err != nil {
			return nil, err
		}
	}
	t, err := c.tree(selections...)
	if err != nil {
		return nil, err
	}
	if callSite := r.GetStackTraceSelector().GetCallSite(); len(callSite) > 0 {
		t.keepCallSite(callSite)
	}
	graph, err := t.draw(int(min(cmp.Or(max(maxNodes, 0), defaultNodes), mostNodes)))
	if err != nil {
		return nil, err
	}
	const boxBytes, nameCost = 384, 8 // of a node as values and as text, and of a name as a multiple of its length
	bytes := int64(0)
	for _, level := range graph.levels {
		bytes += boxBytes * int64(len(level))
	}
	for _, name := range graph.names {
		bytes += nameCost * int64(len(name))
	}
	return graph, c.work.Use(bytes)
}

// levelsOf returns the numbers of boxes: three for each side, and the name.
func levelsOf(graph *graph, sides int) (levels []*querierv1.Level) {
	for _, boxes := range graph.levels {
		values := make([]int64, 0, (3*sides+1)*len(boxes))
		for _, b := range boxes {
			for side := range sides {
				values = append(values, b.offset[side], b.total[side], b.self[side])
			}
			values = append(values, int64(b.name))
		}
		levels = append(levels, &querierv1.Level{Values: values})
	}
	return levels
}

func (c *call) diff(r *querierv1.DiffRequest) (*querierv1.DiffResponse, error) {
	left, err := criteriaOf(r.GetLeft())
	if err != nil {
		return nil, err
	}
	right, err := criteriaOf(r.GetRight())
	if err != nil {
		return nil, err
	}
	if r.GetRight().GetStackTraceSelector() != nil {
		return nil, unimplemented("stack_trace_selector of the right side is not offered: that of the left side counts for both")
	}
	graph, err := c.draw(r.GetLeft(), max(r.GetLeft().GetMaxNodes(), r.GetRight().GetMaxNodes()), left, right)
	if err != nil {
		return nil, err
	}
	return &querierv1.DiffResponse{Flamegraph: &querierv1.FlameGraphDiff{
		Names: graph.names, Levels: levelsOf(graph, 2), Total: graph.totals[0] + graph.totals[1], MaxSelf: graph.maxSelf,
		LeftTicks: graph.totals[0], RightTicks: graph.totals[1],
	}}, nil
}

// selectMergeProfile answers with all samples: max_nodes is for drawings.
func (c *call) selectMergeProfile(r *querierv1.SelectMergeProfileRequest) (*googlev1.Profile, error) {
	switch {
	case r.GetStackTraceSelector() != nil:
		return nil, unimplemented("stack_trace_selector is not offered for pprof")
	case len(r.GetProfileIdSelector()) > 0:
		return nil, unimplemented("profile_id_selector is not offered")
	}
	by := newCriteria(r.GetProfileTypeID(), r.GetLabelSelector(), r.GetStart(), r.GetEnd())
	by.traceIDs = r.GetTraceIdSelector()
	return c.mergeProfile(by)
}

// mergeProfile returns the pprof of what criteria select.
func (c *call) mergeProfile(by *criteria) (*googlev1.Profile, error) {
	selection, err := c.selectSamples(by)
	if err != nil {
		return nil, err
	}
	m, err := c.merge(selection, 0)
	if err != nil {
		return nil, err
	}
	pprof, err := m.pprof()
	if err != nil {
		return nil, err
	}
	const messageCost = 64 // the message as a multiple of its size: itself, and its text as JSON
	if err := c.work.Use(messageCost * int64(len(pprof))); err != nil {
		return nil, err
	}
	profile := &googlev1.Profile{}
	return profile, proto.Unmarshal(pprof, profile)
}

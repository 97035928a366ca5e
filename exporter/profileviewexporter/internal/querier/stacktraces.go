// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"google.golang.org/protobuf/proto"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/tree"
)

// defaultNodes is the number of nodes of a flame graph if a request does not say it.
const defaultNodes = 8192

func nodesOf(maxNodes int64) int {
	if maxNodes <= 0 {
		return defaultNodes
	}
	return int(min(maxNodes, tree.MaxNodes))
}

// selectingOf returns what a request selects.
func selectingOf(r *querierv1.SelectMergeStacktracesRequest) *selecting {
	return &selecting{r.GetProfileTypeID(), r.GetLabelSelector(), r.GetStart(), r.GetEnd(), r.GetTraceIdSelector(), r.GetSpanSelector()}
}

func (s *Server) selectMergeStacktraces(c *call, r *querierv1.SelectMergeStacktracesRequest) (*querierv1.SelectMergeStacktracesResponse, error) {
	if err := checkStacktraces(r); err != nil {
		return nil, err
	}
	switch r.GetFormat() {
	case querierv1.ProfileFormat_PROFILE_FORMAT_UNSPECIFIED, querierv1.ProfileFormat_PROFILE_FORMAT_FLAMEGRAPH:
		graph, err := c.flameGraph(r)
		return &querierv1.SelectMergeStacktracesResponse{Flamegraph: graph}, err
	case querierv1.ProfileFormat_PROFILE_FORMAT_PPROF:
		if r.GetStackTraceSelector() != nil {
			return nil, unimplemented("stack_trace_selector is not offered for pprof")
		}
		profile, err := c.profile(selectingOf(r))
		return &querierv1.SelectMergeStacktracesResponse{Pprof: &querierv1.PprofProfile{Profile: profile}}, err
	}
	return nil, unimplemented("the format " + r.GetFormat().String() + " is not offered")
}

func (s *Server) selectMergeSpanProfile(c *call, r *querierv1.SelectMergeSpanProfileRequest) (*querierv1.SelectMergeSpanProfileResponse, error) {
	same := &querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: r.GetProfileTypeID(), LabelSelector: r.GetLabelSelector(), SpanSelector: r.GetSpanSelector(),
		Start: r.GetStart(), End: r.GetEnd(), MaxNodes: r.MaxNodes, Format: r.GetFormat(),
	}
	if same.GetFormat() == querierv1.ProfileFormat_PROFILE_FORMAT_PPROF {
		return nil, unimplemented("the answer has no field for pprof")
	}
	answer, err := s.selectMergeStacktraces(c, same)
	return &querierv1.SelectMergeSpanProfileResponse{Flamegraph: answer.GetFlamegraph()}, err
}

// merge adds what a request selects to a side of a tree.
func (c *call) merge(t *tree.Tree, r *querierv1.SelectMergeStacktracesRequest, side int) error {
	selection, _, err := c.selection(selectingOf(r))
	if err != nil {
		return err
	}
	selection.KeepLatest()
	return t.Merge(selection, side)
}

// draw returns the drawing of a tree.
func (c *call) draw(t *tree.Tree, r *querierv1.SelectMergeStacktracesRequest, maxNodes int64) (*tree.Graph, error) {
	functions, err := callSite(r.GetStackTraceSelector())
	if err != nil {
		return nil, err
	}
	if len(functions) > 0 {
		t.KeepCallSite(functions)
	}
	graph, err := t.Draw(nodesOf(maxNodes))
	if err != nil {
		return nil, err
	}
	bytes := int64(0)
	for _, level := range graph.Levels {
		bytes += boxBytes * int64(len(level))
	}
	for _, name := range graph.Names {
		bytes += nameCost * int64(len(name))
	}
	return graph, c.work.Use(bytes)
}

// The memory of a node in an answer, as values and as text, and of a name as a multiple of its length.
const (
	boxBytes = 384
	nameCost = 8
)

func (c *call) flameGraph(r *querierv1.SelectMergeStacktracesRequest) (*querierv1.FlameGraph, error) {
	t := tree.New(c.work)
	if err := c.merge(t, r, 0); err != nil {
		return nil, err
	}
	graph, err := c.draw(t, r, r.GetMaxNodes())
	if err != nil {
		return nil, err
	}
	answer := &querierv1.FlameGraph{Names: graph.Names, Total: graph.Totals[0], MaxSelf: graph.MaxSelf}
	for _, boxes := range graph.Levels {
		values := make([]int64, 0, 4*len(boxes))
		for _, b := range boxes {
			values = append(values, b.Offset[0], b.Total[0], b.Self[0], int64(b.Name))
		}
		answer.Levels = append(answer.Levels, &querierv1.Level{Values: values})
	}
	return answer, nil
}

func (s *Server) diff(c *call, r *querierv1.DiffRequest) (*querierv1.DiffResponse, error) {
	t := tree.New(c.work)
	for side, one := range []*querierv1.SelectMergeStacktracesRequest{r.GetLeft(), r.GetRight()} {
		if err := checkStacktraces(one); err != nil {
			return nil, err
		}
		if err := c.merge(t, one, side); err != nil {
			return nil, err
		}
	}
	if r.GetRight().GetStackTraceSelector() != nil {
		return nil, unimplemented("stack_trace_selector of the right side is not offered: that of the left side counts for both")
	}
	graph, err := c.draw(t, r.GetLeft(), max(r.GetLeft().GetMaxNodes(), r.GetRight().GetMaxNodes()))
	if err != nil {
		return nil, err
	}
	answer := &querierv1.FlameGraphDiff{
		Names: graph.Names, Total: graph.Totals[0] + graph.Totals[1], MaxSelf: graph.MaxSelf,
		LeftTicks: graph.Totals[0], RightTicks: graph.Totals[1],
	}
	for _, boxes := range graph.Levels {
		values := make([]int64, 0, 7*len(boxes))
		for _, b := range boxes {
			values = append(values, b.Offset[0], b.Total[0], b.Self[0], b.Offset[1], b.Total[1], b.Self[1], int64(b.Name))
		}
		answer.Levels = append(answer.Levels, &querierv1.Level{Values: values})
	}
	return &querierv1.DiffResponse{Flamegraph: answer}, nil
}

// selectMergeProfile answers with all samples: max_nodes is for drawings.
func (s *Server) selectMergeProfile(c *call, r *querierv1.SelectMergeProfileRequest) (*googlev1.Profile, error) {
	switch {
	case r.GetStackTraceSelector() != nil:
		return nil, unimplemented("stack_trace_selector is not offered for pprof")
	case len(r.GetProfileIdSelector()) > 0:
		return nil, unimplemented("profile_id_selector is not offered")
	}
	return c.profile(&selecting{
		typeID: r.GetProfileTypeID(), labels: r.GetLabelSelector(), start: r.GetStart(), end: r.GetEnd(), traceIDs: r.GetTraceIdSelector(),
	})
}

// messageCost is the memory of the message for a pprof, as a multiple of its size: the message itself, and its text as JSON.
const messageCost = 64

// profile returns the pprof of what a request selects.
func (c *call) profile(r *selecting) (*googlev1.Profile, error) {
	selection, _, err := c.selection(r)
	if err != nil {
		return nil, err
	}
	selection.KeepLatest()
	m := merge.New(c.work)
	if err := m.Add(selection); err != nil {
		return nil, err
	}
	pprof, err := m.Pprof()
	if err != nil {
		return nil, err
	}
	if err := c.work.Use(messageCost * int64(len(pprof))); err != nil {
		return nil, err
	}
	profile := &googlev1.Profile{}
	return profile, proto.Unmarshal(pprof, profile)
}

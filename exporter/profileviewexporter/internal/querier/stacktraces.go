// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"google.golang.org/protobuf/proto"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
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
		profile, err := c.profile(c.ofStacktraces(r))
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
	selection, err := c.server.Select(c.ofStacktraces(r), c.work)
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
	return &querierv1.FlameGraph{Names: graph.Names, Levels: levelsOf(graph, 1), Total: graph.Totals[0], MaxSelf: graph.MaxSelf}, nil
}

// levelsOf returns the numbers of boxes: three for each side, and the name.
func levelsOf(graph *tree.Graph, sides int) (levels []*querierv1.Level) {
	for _, boxes := range graph.Levels {
		values := make([]int64, 0, (3*sides+1)*len(boxes))
		for _, b := range boxes {
			for side := range sides {
				values = append(values, b.Offset[side], b.Total[side], b.Self[side])
			}
			values = append(values, int64(b.Name))
		}
		levels = append(levels, &querierv1.Level{Values: values})
	}
	return levels
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
	return &querierv1.DiffResponse{Flamegraph: &querierv1.FlameGraphDiff{
		Names: graph.Names, Levels: levelsOf(graph, 2), Total: graph.Totals[0] + graph.Totals[1], MaxSelf: graph.MaxSelf,
		LeftTicks: graph.Totals[0], RightTicks: graph.Totals[1],
	}}, nil
}

// selectMergeProfile answers with all samples: max_nodes is for drawings.
func (s *Server) selectMergeProfile(c *call, r *querierv1.SelectMergeProfileRequest) (*googlev1.Profile, error) {
	switch {
	case r.GetStackTraceSelector() != nil:
		return nil, unimplemented("stack_trace_selector is not offered for pprof")
	case len(r.GetProfileIdSelector()) > 0:
		return nil, unimplemented("profile_id_selector is not offered")
	}
	selecting := c.request(r.GetProfileTypeID(), r.GetLabelSelector(), r.GetStart(), r.GetEnd())
	selecting.TraceIDs = r.GetTraceIdSelector()
	return c.profile(selecting)
}

// messageCost is the memory of the message for a pprof, as a multiple of its size: the message itself, and its text as JSON.
const messageCost = 64

// profile returns the pprof of what a request selects.
func (c *call) profile(r *query.Request) (*googlev1.Profile, error) {
	selection, err := c.server.Select(r, c.work)
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

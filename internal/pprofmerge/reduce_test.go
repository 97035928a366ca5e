// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/pprofmerge"
	"github.com/otelpprof/otelpprof/internal/profiletest"
	"github.com/otelpprof/otelpprof/internal/profiletest/gen"
)

// stacked is a profile with a sample for each stack, named from root to leaf, with the values 1, 2, 3 and so on.
func stacked(stacks ...string) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "a", Unit: "count"}}, PeriodType: &profile.ValueType{}}
	known := map[string]*profile.Location{}
	for i, stack := range stacks {
		s := &profile.Sample{Value: []int64{int64(i + 1)}, Label: map[string][]string{"k": {stack}}}
		for name := range strings.SplitSeq(stack, " ") {
			if known[name] == nil {
				f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
				known[name] = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, known[name])
			}
			s.Location = append([]*profile.Location{known[name]}, s.Location...)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// valuesByStack returns the sums of the first value by stack, named from root to leaf.
func valuesByStack(p *profile.Profile) map[string]int64 {
	found := map[string]int64{}
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				names = append([]string{line.Function.Name}, names...)
			}
		}
		found[strings.Join(names, " ")] += s.Value[0]
	}
	return found
}

func reduced(t testingT, v pprofmerge.View, profiles ...*profile.Profile) (*profile.Profile, pprofmerge.Reduction) {
	t.Helper()
	m := pprofmerge.New()
	for _, p := range profiles {
		require.NoError(t, m.Add(raw(t, p), nil))
	}
	r, err := m.Reduce(&v)
	require.NoError(t, err)
	written := m.Append(nil)
	require.NoError(t, pprofmerge.Check(written, nil))
	got, err := profile.ParseUncompressed(written)
	require.NoError(t, err)
	require.NoError(t, got.CheckValid())
	return got, r
}

// everything is a view that leaves out nothing but comments.
var everything = pprofmerge.View{RootFrames: 1 << 30, Labels: true, MaxCost: 1 << 60, StringBytes: 1 << 30}

func TestReduceNothing(t *testing.T) {
	for _, file := range profiletest.OwnPprofs(t) {
		p, err := profile.ParseData(file.Bytes(t))
		require.NoError(t, err)
		want, err := sum(t, p)
		require.NoError(t, err)
		want.Comments = nil
		got, r := reduced(t, everything, p)
		require.Empty(t, profiletest.DiffPprof(want, got), file.Name)
		assert.Zero(t, r.LeftOut+r.Deep)
	}
}

func TestReduceHeaviestStay(t *testing.T) {
	p := stacked("a b", "a c d", "a b e", "x")
	v := everything
	v.Labels, v.Remainder = false, true
	v.Costs, v.MaxCost = pprofmerge.Costs{Frame: 1}, 4
	got, r := reduced(t, v, p)
	assert.Equal(t, map[string]int64{"x": 4, "a b e": 3, pprofmerge.OtherFunction: 3}, valuesByStack(got))
	assert.Equal(t, pprofmerge.Reduction{Cost: 4, Stacks: 4, LeftOut: 2}, r)
	for _, s := range got.Sample {
		assert.Empty(t, s.Label)
	}
	v.Remainder = false
	got, _ = reduced(t, v, p)
	assert.Equal(t, map[string]int64{"x": 4, "a b e": 3}, valuesByStack(got))
}

// What is shared costs once: locations and edges.
func TestReduceCosts(t *testing.T) {
	p := stacked("a b", "a b c")
	for _, test := range []struct {
		costs pprofmerge.Costs
		want  int64
	}{
		{pprofmerge.Costs{Sample: 1}, 2},
		{pprofmerge.Costs{Value: 1}, 2},
		{pprofmerge.Costs{Frame: 1}, 5},
		{pprofmerge.Costs{Label: 1}, 2},
		{pprofmerge.Costs{Line: 1}, 3},
		{pprofmerge.Costs{LineByte: 1}, 3},
		{pprofmerge.Costs{Edge: 1}, 2},
		{pprofmerge.Costs{Edge: 1, EdgeByte: 1}, 2 + 2*2},
	} {
		v := everything
		v.Costs = test.costs
		_, r := reduced(t, v, p)
		assert.Equal(t, test.want, r.Cost, "%+v", test.costs)
	}
}

func TestReduceDeepStacks(t *testing.T) {
	p := stacked("a b c d e f", "a b c x e f", "a b")
	v := everything
	v.RootFrames, v.LeafFrames, v.Remainder = 2, 1, true
	got, r := reduced(t, v, p)
	assert.Equal(t, map[string]int64{"a b " + pprofmerge.GapFunction + " f": 3, "a b": 3}, valuesByStack(got))
	assert.Equal(t, 2, r.Deep)
	v.RootFrames, v.Remainder = 0, false
	got, _ = reduced(t, v, p)
	assert.Equal(t, map[string]int64{"f": 3, "b": 3}, valuesByStack(got))
}

func TestReduceStrings(t *testing.T) {
	p := stacked(strings.Repeat("ä", 20))
	p.DropFrames = strings.Repeat("d", 20)
	v := everything
	v.StringBytes = 10
	got, _ := reduced(t, v, p)
	assert.Equal(t, "äää…", got.Function[0].Name)
	assert.Empty(t, got.DropFrames, "half a pattern is none")
}

// The samples of what is compared keep their label.
func TestSubtract(t *testing.T) {
	m := pprofmerge.New()
	require.NoError(t, m.Add(raw(t, stacked("a", "a b", "a c")), nil))
	require.NoError(t, m.Subtract(raw(t, stacked("a", "x", "a c")), nil))
	v := everything
	v.Labels, v.Remainder, v.Costs, v.MaxCost = false, true, pprofmerge.Costs{Sample: 1}, 3
	r, err := m.Reduce(&v)
	require.NoError(t, err)
	assert.Equal(t, 2, r.LeftOut)
	got, err := profile.ParseUncompressed(m.Append(nil))
	require.NoError(t, err)
	base, own := got.Copy(), got.Copy()
	base.FilterSamplesByTag(func(s *profile.Sample) bool { return s.HasLabel(pprofmerge.BaseLabel, "true") }, nil)
	own.FilterSamplesByTag(nil, func(s *profile.Sample) bool { return s.HasLabel(pprofmerge.BaseLabel, "true") })
	assert.Equal(t, map[string]int64{"a c": 3, "a b": 2, pprofmerge.OtherFunction: 1}, valuesByStack(own))
	assert.Equal(t, map[string]int64{"a c": -3, pprofmerge.OtherFunction: -3}, valuesByStack(base))
}

// Totals stay, and costs are within their bound, whatever the profile.
func TestReduceOfDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := gen.Pprof().Draw(t, "profile").Copy()
		if len(p.SampleType) == 0 {
			return
		}
		want, err := sum(t, p)
		require.NoError(t, err)
		v := pprofmerge.View{
			RootFrames: rapid.IntRange(1, 4).Draw(t, "root"), LeafFrames: rapid.IntRange(1, 4).Draw(t, "leaf"),
			Labels: rapid.Bool().Draw(t, "labels"), StringBytes: 1000, Remainder: true,
			MaxCost: rapid.Int64Range(0, 100).Draw(t, "cost"),
			Costs:   pprofmerge.Costs{Sample: 1, Value: 1, Frame: 2, Label: 1, Line: 1, LineByte: 1, Edge: 1, EdgeByte: 1},
		}
		got, r := reduced(t, v, p)
		require.LessOrEqual(t, r.Cost, v.MaxCost)
		require.Equal(t, totals(want), totals(got))
	})
}

func totals(p *profile.Profile) []int64 {
	sums := make([]int64, len(p.SampleType))
	for _, s := range p.Sample {
		for i, v := range s.Value {
			sums[i] += v
		}
	}
	return sums
}

var errEnough = errors.New("enough")

// Whenever Reserve says no, the work ends with its error, and Append keeps to its bound.
func TestReserve(t *testing.T) {
	payload := raw(t, labelled())
	work := func(m *pprofmerge.Merger) error {
		for range 2 {
			if err := m.Add(payload, nil); err != nil {
				return err
			}
		}
		v := everything
		v.MaxCost, v.Costs = 0, pprofmerge.Costs{Sample: 1}
		_, err := m.Reduce(&v)
		return err
	}
	m, asked := pprofmerge.New(), 0
	m.Reserve = func(bytes int64) error {
		asked++
		assert.Positive(t, bytes)
		return nil
	}
	require.NoError(t, work(m))
	for last := range asked {
		m, n := pprofmerge.New(), 0
		m.Reserve = func(int64) error {
			if n++; n > last {
				return errEnough
			}
			return nil
		}
		require.ErrorIs(t, work(m), errEnough)
	}
}

func TestOutputBytes(t *testing.T) {
	for _, file := range profiletest.OwnPprofs(t) {
		m := pprofmerge.New()
		p, err := profile.ParseData(file.Bytes(t))
		require.NoError(t, err)
		require.NoError(t, m.Add(raw(t, p), nil))
		assert.LessOrEqual(t, int64(len(m.Append(nil))), m.OutputBytes(), file.Name)
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/pprofmerge"
	"github.com/otelpprof/otelpprof/internal/profiletest/gen"
	"github.com/otelpprof/otelpprof/internal/selector"
)

var wide = pprofmerge.LabelLimits{Keys: 100, Values: 100, Text: 100}

// regions has samples of two regions and two users, and one without labels: of the values 1, 10, 100 and 1000.
func regions() *profile.Profile {
	p := simple([]int64{1}, "a")
	location := p.Sample[0].Location
	p.Sample[0].Label = map[string][]string{"region": {"eu"}, "user": {"ann"}}
	p.Sample = append(p.Sample,
		&profile.Sample{Location: location, Value: []int64{10}, Label: map[string][]string{"region": {"us"}, "user": {"ann"}}},
		&profile.Sample{
			Location: location, Value: []int64{100}, Label: map[string][]string{"region": {"us"}, "user": {"bob"}},
			NumLabel: map[string][]int64{"size": {-1 << 40}}, NumUnit: map[string][]string{"size": {"bytes"}},
		},
		&profile.Sample{Location: location, Value: []int64{1000}},
	)
	return p
}

func labelsOf(t testingT, m *pprofmerge.Merger, limits pprofmerge.LabelLimits) map[string][]pprofmerge.LabelValue {
	t.Helper()
	types, _ := m.Types()
	require.NotEmpty(t, types)
	keys, err := m.Labels(types[0].Column, limits)
	require.NoError(t, err)
	found := map[string][]pprofmerge.LabelValue{}
	for _, key := range keys {
		found[key.Key] = key.Values
	}
	return found
}

func TestLabels(t *testing.T) {
	m := pprofmerge.New()
	m.CountLabels = true
	require.NoError(t, m.Add(raw(t, regions()), nil))
	require.NoError(t, m.Subtract(raw(t, regions()), nil))
	want := map[string][]pprofmerge.LabelValue{
		"region": {{Text: "us", Samples: 2, Value: 110}, {Text: "eu", Samples: 1, Value: 1}},
		"user":   {{Text: "bob", Samples: 1, Value: 100}, {Text: "ann", Samples: 2, Value: 11}},
		"size":   {{Text: "-1099511627776", Unit: "bytes", Samples: 1, Value: 100}},
	}
	assert.Equal(t, want, labelsOf(t, m, wide))
	samples, value := m.Total(0)
	assert.Equal(t, []int64{4, 1111}, []int64{samples, value})

	few := wide
	few.Values, few.Keys = 1, 2
	keys, err := m.Labels(0, few)
	require.NoError(t, err)
	assert.Equal(t, []pprofmerge.LabelKey{
		{Key: "region", Values: want["region"][:1], Distinct: 2}, {Key: "user", Values: want["user"][:1], Distinct: 2},
	}, keys)
	one := wide
	one.Key = "size"
	assert.Equal(t, map[string][]pprofmerge.LabelValue{"size": want["size"]}, labelsOf(t, m, one))
	short := wide
	short.Text = 4
	assert.Equal(t, map[string][]pprofmerge.LabelValue{"user": want["user"], "size": nil}, labelsOf(t, m, short))
	_, err = m.Reduce(&pprofmerge.View{RootFrames: 9, StringBytes: 9, MaxCost: 1 << 30})
	require.NoError(t, err)
	assert.Equal(t, want, labelsOf(t, m, wide), "also of what a view leaves out")
}

// What else there is of a label that is wanted counts too, but not of the others.
func TestLabelsOfOnly(t *testing.T) {
	m := pprofmerge.New()
	m.CountLabels, m.CountOthers = true, true
	m.Only = []selector.Selector{{Key: "region", Text: "us"}, {Key: "user", Text: "ann"}}
	require.NoError(t, m.Add(raw(t, regions()), nil))
	assert.Equal(t, map[string][]pprofmerge.LabelValue{
		"region": {{Text: "us", Samples: 1, Value: 10}, {Text: "eu", Samples: 1, Value: 1}},
		"user":   {{Text: "bob", Samples: 1, Value: 100}, {Text: "ann", Samples: 1, Value: 10}},
	}, labelsOf(t, m, wide))
	samples, value := m.Total(0)
	assert.Equal(t, []int64{1, 10}, []int64{samples, value})
	assert.Equal(t, 1, m.Samples())

	m = pprofmerge.New()
	m.CountLabels = true
	m.Only = []selector.Selector{{Key: "user", Text: "ann"}}
	require.NoError(t, m.Add(raw(t, regions()), nil))
	assert.Equal(t, []pprofmerge.LabelValue{{Text: "ann", Samples: 2, Value: 11}}, labelsOf(t, m, wide)["user"])
}

// Each value has the total that the samples with it alone have, and memory is asked for.
func TestLabelsOfDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := gen.Pprof().Draw(t, "profile").Copy()
		if len(p.SampleType) == 0 {
			return
		}
		m := pprofmerge.New()
		m.CountLabels = true
		asked := int64(0)
		m.Reserve = func(bytes int64) error {
			asked = max(asked, bytes)
			return nil
		}
		require.NoError(t, m.Add(raw(t, p), nil))
		for key, values := range labelsOf(t, m, wide) {
			for _, v := range values {
				alone := pprofmerge.New()
				alone.Only = []selector.Selector{{Key: key, Text: v.Text}}
				require.NoError(t, alone.Add(raw(t, p), nil))
				samples, value := alone.Total(0)
				same := 0
				for _, other := range values {
					if other.Text == v.Text {
						same++
					}
				}
				if same == 1 && !strings.Contains(v.Text, "\ufffd") { // with another unit it is another value
					require.Equal(t, []int64{samples, value}, []int64{v.Samples, v.Value}, "%s=%s", key, v.Text)
				}
			}
		}
		require.GreaterOrEqual(t, asked, m.Bytes())
	})
}

// Labels and totals have the values of types that came later.
func TestLabelsOfMoreTypes(t *testing.T) {
	m := pprofmerge.New()
	m.CountLabels = true
	require.NoError(t, m.Add(raw(t, regions()), nil))
	early := slices.Clone(m.Totals())
	more := simple([]int64{3, 5, 7}, "a", "b", "c")
	more.Sample[0].Label = map[string][]string{"region": {"eu"}}
	require.NoError(t, m.Add(raw(t, more), nil))
	types, _ := m.Types()
	require.Len(t, types, 3)
	totals := map[string]int64{}
	for _, each := range types {
		keys, err := m.Labels(each.Column, wide)
		require.NoError(t, err)
		require.Equal(t, "region", keys[0].Key)
		for _, v := range keys[0].Values {
			totals[v.Text+" "+each.Type] = v.Value
		}
		_, totals[each.Type] = m.Total(each.Column)
		_, totals["early "+each.Type] = pprofmerge.TotalOf(early, each.Column)
	}
	assert.Equal(t, map[string]int64{
		"a": 1114, "b": 5, "c": 7, "eu a": 4, "eu b": 5, "eu c": 7, "us a": 110, "us b": 0, "us c": 0, "early a": 1111, "early b": 0, "early c": 0,
	}, totals)
}

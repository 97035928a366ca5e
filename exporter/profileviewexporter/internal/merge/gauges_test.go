// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
)

// Each side of a difference has its own latest profile, also if both sides have the same profile.
func TestDifferenceOfGauges(t *testing.T) {
	data := own(t, "heap.pb.gz")
	one, err := profile.ParseData(data)
	require.NoError(t, err)
	entry := func(at int64) *recent.Entry {
		return &recent.Entry{Compressed: data, Begin: time.Unix(at, 0), End: time.Unix(at, 0), Gauges: heapGauges}
	}
	first, second := entry(1), entry(2)
	got, _, err := View(&Work{Context: t.Context()}, []*recent.Entry{first, second}, []*recent.Entry{first}, &whole, 0, nil)
	require.NoError(t, err)
	now, before := &profile.Profile{SampleType: got.SampleType}, &profile.Profile{SampleType: got.SampleType}
	for _, s := range got.Sample {
		if s.HasLabel(pprofmerge.BaseLabel, "true") {
			before.Sample = append(before.Sample, s)
		} else {
			now.Sample = append(now.Sample, s)
		}
	}
	for i, times := range []int64{2, 2, 1, 1} {
		assert.Equal(t, times*totals(one)[i], totals(now)[i], i)
		assert.Equal(t, -totals(one)[i], totals(before)[i], i)
	}
}

// A capture can be split into parts with different sample types. Of each gauge, the latest profile that has it counts, and all
// parts of one capture.
func TestGaugesOfParts(t *testing.T) {
	part := func(at int64, types []string, values ...int64) *recent.Entry {
		p := many(1)
		p.SampleType, p.Sample[0].Value = nil, values
		e := &recent.Entry{Begin: time.Unix(at, 0), End: time.Unix(at, 0)}
		for i, name := range types {
			p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: "bytes"})
			if strings.HasPrefix(name, "inuse") {
				e.Gauges = append(e.Gauges, recent.Gauge{Position: i, Type: name, Unit: "bytes"})
			}
		}
		var raw bytes.Buffer
		require.NoError(t, p.WriteUncompressed(&raw))
		e.Compressed, e.Inflated = recent.Compress(raw.Bytes()), raw.Len()
		return e
	}
	all := []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}
	earlier := part(1, all, 1, 2, 3, 4)
	first, second := part(2, []string{"inuse_space", "alloc_objects"}, 7, 10), part(2, []string{"alloc_space", "inuse_objects"}, 20, 5)
	third := part(2, []string{"inuse_space", "alloc_objects"}, 1, 100)
	for _, tt := range []struct {
		entries []*recent.Entry
		want    [4]int64
	}{
		{[]*recent.Entry{earlier, first, second}, [4]int64{11, 22, 5, 7}},
		{[]*recent.Entry{second, first, earlier}, [4]int64{11, 22, 5, 7}},
		{[]*recent.Entry{earlier, second}, [4]int64{1, 22, 5, 4}},
		{[]*recent.Entry{earlier, first, second, third}, [4]int64{111, 22, 5, 8}},
	} {
		got, _, err := View(&Work{Context: t.Context()}, tt.entries, nil, &whole, 0, nil)
		require.NoError(t, err)
		for i, name := range all {
			index, err := got.SampleIndexByName(name)
			require.NoError(t, err)
			assert.Equal(t, tt.want[i], totals(got)[index], name)
		}
	}
}

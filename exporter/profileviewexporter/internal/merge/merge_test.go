// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
	"github.com/otelpprof/otelpprof/internal/profiletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func own(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(profiletest.Testdata(tb, "pprof", name))
	require.NoError(tb, err)
	return data
}

// whole is a view of all samples.
var whole = pprofmerge.View{RootFrames: 1 << 30, Labels: true, StringBytes: 1 << 30, MaxCost: 1 << 60}

// heapGauges are the gauges of heap.pb.gz.
var heapGauges = []recent.Gauge{{Position: 2, Type: "inuse_objects", Unit: "count"}, {Position: 3, Type: "inuse_space", Unit: "bytes"}}

// The result is the sum of the entries. Of gauges, the latest entry of each instance counts.
func TestProfiles(t *testing.T) {
	data := own(t, "heap.pb.gz") // alloc_objects, alloc_space, inuse_objects, inuse_space
	one, err := profile.ParseData(data)
	require.NoError(t, err)
	var entries []*recent.Entry
	for i, instance := range []string{"a", "b", "a", "b", "a"} {
		at := time.Unix(int64(100-i), 0) // the first of each is the latest
		entries = append(entries, &recent.Entry{Compressed: data, Attributes: []recent.Attribute{{Name: "pod", Value: instance}}, Begin: at, End: at, Gauges: heapGauges})
	}
	got, _, err := View(&Work{Context: t.Context()}, entries, nil, &whole, 0, nil)
	require.NoError(t, err)
	want := totals(one)
	for i, times := range []int64{5, 5, 2, 2} {
		assert.Equal(t, times*want[i], totals(got)[i], i)
	}
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

// JFR recordings with and without allocations outside of a TLAB: the sum has both types, in either order, and so have the counts.
func TestProfilesOfDifferentTypes(t *testing.T) {
	of := func(instance string, values ...int64) *recent.Entry {
		p := many(1)
		p.SampleType, p.Sample[0].Value = nil, values
		for i := range values {
			p.SampleType = append(p.SampleType, &profile.ValueType{Type: []string{"alloc_in_new_tlab_bytes", "alloc_outside_tlab_bytes"}[i], Unit: "bytes"})
		}
		var raw bytes.Buffer
		require.NoError(t, p.WriteUncompressed(&raw))
		return &recent.Entry{
			Compressed: recent.Compress(raw.Bytes()), Inflated: raw.Len(), Attributes: []recent.Attribute{{Name: "pod", Value: instance}},
		}
	}
	for _, entries := range [][]*recent.Entry{{of("x", 1), of("y", 10, 20)}, {of("y", 10, 20), of("x", 1)}} {
		for sampleType, want := range map[string][2]int64{"alloc_in_new_tlab_bytes": {11, 10}, "alloc_outside_tlab_bytes": {20, 20}} {
			counts := &Counts{Attribute: "pod", SampleType: sampleType, Limits: pprofmerge.LabelLimits{Text: 9}}
			got, _, err := View(&Work{Context: t.Context()}, entries, nil, &whole, 0, counts)
			require.NoError(t, err)
			index, err := got.SampleIndexByName(sampleType)
			require.NoError(t, err)
			assert.Equal(t, want[0], totals(got)[index], sampleType)
			assert.Equal(t, want[0], counts.Total)
			require.NotEmpty(t, counts.Resources)
			assert.Equal(t, pprofmerge.LabelValue{Text: "y", Samples: 1, Value: want[1]}, counts.Resources[0])
		}
	}
}

func TestProfilesEndsWithTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Profiles(&Work{Context: ctx}, []*recent.Entry{{Compressed: own(t, "cpu.pb.gz")}})
	require.ErrorIs(t, err, context.Canceled)
	work := &Work{Context: t.Context()}
	_, err = Profiles(work, []*recent.Entry{{Compressed: []byte("no")}, {}})
	require.ErrorContains(t, err, "cannot merge a profile in memory")
	_, _, err = View(work, []*recent.Entry{{Compressed: []byte("no")}}, nil, &whole, 0, nil)
	require.ErrorIs(t, err, ErrInvalid)
}

func TestDifference(t *testing.T) {
	work := &Work{Context: t.Context()}
	a, b := &recent.Entry{Compressed: own(t, "cpu.pb.gz")}, &recent.Entry{Compressed: own(t, "cpu.pb.gz")}
	got, _, err := View(work, []*recent.Entry{a, a}, []*recent.Entry{b}, &whole, 0, nil)
	require.NoError(t, err)
	var total, base int64
	for _, s := range got.Sample {
		if s.HasLabel(pprofmerge.BaseLabel, "true") {
			base += s.Value[0]
		} else {
			total += s.Value[0]
		}
	}
	assert.Negative(t, base)
	assert.Equal(t, -2*base, total)
	_, _, err = View(work, []*recent.Entry{a}, []*recent.Entry{{Compressed: own(t, "heap.pb.gz")}}, &whole, 0, nil)
	require.ErrorIs(t, err, ErrDiffers)
}

// The reservation is never below the memory of the work, ends at the memory of the result, and cannot exceed its budget.
func TestWorkReserves(t *testing.T) {
	var raw bytes.Buffer
	require.NoError(t, many(20_000).WriteUncompressed(&raw))
	entry := func() *recent.Entry {
		return &recent.Entry{Compressed: recent.Compress(raw.Bytes()), Inflated: raw.Len()}
	}
	bytes := memory.New(1<<40, 0)
	reservation, err := bytes.Reserve(t.Context(), 1)
	require.NoError(t, err)
	work := &Work{Context: t.Context(), Reservation: reservation}
	merged, err := Profiles(work, []*recent.Entry{entry(), entry()})
	require.NoError(t, err)
	assert.EqualValues(t, cap(merged), reservation.Bytes())
	_, peak := bytes.Used()
	assert.Greater(t, peak, int64(3*raw.Len()))

	reservation.Release()
	small, err := memory.New(peak/2, 0).Reserve(t.Context(), 1)
	require.NoError(t, err)
	_, err = Profiles(&Work{Context: t.Context(), Reservation: small}, []*recent.Entry{entry(), entry()})
	require.ErrorIs(t, err, memory.ErrTooLarge)
}

// many returns a CPU profile of many stacks.
func many(samples int) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, TimeNanos: int64(time.Hour)}
	for i := range samples {
		name := fmt.Sprintf("main.f%d", i)
		f := &profile.Function{ID: uint64(i + 1), Name: name, SystemName: name, StartLine: 1}
		l := &profile.Location{ID: uint64(i + 1), Line: []profile.Line{{Function: f, Line: 2}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{int64(i + 1)}})
	}
	return p
}

// If the file is too large, the lightest stacks are left out.
func TestPGOIsBounded(t *testing.T) {
	whole, err := PGO(many(2000), 1<<20)
	require.NoError(t, err)
	limit := len(whole) / 3
	part, err := PGO(many(2000), limit)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(part), limit)
	assert.Greater(t, len(part), limit/2)
	p, err := profile.ParseData(part)
	require.NoError(t, err)
	for _, s := range p.Sample {
		assert.Greater(t, s.Value[0], int64(2000-len(p.Sample)))
	}
	none, err := PGO(many(10), 1)
	require.NoError(t, err, "a limit that nothing fits in ends too")
	assert.NotEmpty(t, none)
	_, err = PGO(&profile.Profile{}, 1)
	require.ErrorIs(t, err, ErrNoStartLines)
}

// Of profiles with different sample types, go build sees all samples: it uses the first type that it knows.
func TestPGOOfDifferentTypes(t *testing.T) {
	samples := profile.ValueType{Type: "samples", Unit: "count"}
	entry := func(values int, name string) *recent.Entry {
		p := many(1)
		p.Function[0].Name = name
		if values == 2 {
			p.SampleType = append([]*profile.ValueType{&samples}, p.SampleType...)
			p.Sample[0].Value = []int64{1, 10}
		}
		var raw bytes.Buffer
		require.NoError(t, p.WriteUncompressed(&raw))
		return &recent.Entry{Compressed: recent.Compress(raw.Bytes()), Inflated: raw.Len()}
	}
	for _, tt := range []struct {
		values []int
		types  int
	}{{[]int{2, 1, 1}, 1}, {[]int{1, 2, 1}, 1}, {[]int{2, 2}, 2}, {[]int{1, 1}, 1}} {
		var entries []*recent.Entry
		for i, values := range tt.values {
			entries = append(entries, entry(values, fmt.Sprint("f", i)))
		}
		merged, _, err := View(&Work{Context: t.Context()}, entries, nil, &whole, 0, nil)
		require.NoError(t, err)
		written, err := PGO(merged, 1<<20)
		require.NoError(t, err)
		p, err := profile.ParseData(written)
		require.NoError(t, err)
		assert.Len(t, p.SampleType, tt.types)
		require.Len(t, p.Sample, len(entries))
		for _, s := range p.Sample {
			assert.Positive(t, s.Value[0])
		}
	}
}

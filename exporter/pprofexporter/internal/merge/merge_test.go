// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/profiletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func own(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(profiletest.Testdata(tb, "pprof", name))
	require.NoError(tb, err)
	return data
}

// What is merged is the sum of what is held; of gauges the latest of each instance counts.
func TestProfiles(t *testing.T) {
	data := own(t, "heap.pb.gz") // alloc_objects, alloc_space, inuse_objects, inuse_space
	one, err := profile.ParseData(data)
	require.NoError(t, err)
	var entries []*recent.Entry
	for i, instance := range []string{"a", "b", "a", "b", "a"} {
		at := time.Unix(int64(100-i), 0) // the first of each is the latest
		entries = append(entries, &recent.Entry{Compressed: data, Attributes: []recent.Attribute{{Name: "pod", Value: instance}}, Begin: at, End: at, Gauges: []int{2, 3}})
	}
	got, err := Parsed(t.Context(), entries)
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

func TestProfilesEndsWithTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Profiles(ctx, []*recent.Entry{{Compressed: own(t, "cpu.pb.gz")}})
	require.ErrorIs(t, err, context.Canceled)
	_, err = Profiles(t.Context(), []*recent.Entry{{Compressed: []byte("no")}, {}})
	require.ErrorContains(t, err, "cannot merge a profile that is held")
	_, err = Parsed(t.Context(), []*recent.Entry{{Compressed: []byte("no")}})
	require.ErrorIs(t, err, ErrInvalid)
}

func TestDifference(t *testing.T) {
	data := own(t, "cpu.pb.gz")
	a, err := profile.ParseData(data)
	require.NoError(t, err)
	b, err := profile.ParseData(data)
	require.NoError(t, err)
	b.Scale(0.5)
	got, err := Difference(a, b)
	require.NoError(t, err)
	var total, base int64
	for _, s := range got.Sample {
		if s.HasLabel("pprof::base", "true") {
			base += s.Value[0]
		} else {
			total += s.Value[0]
		}
	}
	assert.Positive(t, total)
	assert.Negative(t, base)
	other := &profile.Profile{SampleType: []*profile.ValueType{{Type: "x", Unit: "y"}}}
	_, err = Difference(a.Copy(), other)
	require.ErrorIs(t, err, ErrDiffers)
}

// many is a CPU profile of many stacks.
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

// Of a file that is too large the lightest stacks go.
func TestPGOIsBounded(t *testing.T) {
	whole, err := PGO(many(2000), 5, 1<<20)
	require.NoError(t, err)
	limit := len(whole) / 3
	part, err := PGO(many(2000), 5, limit)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(part), limit)
	assert.Greater(t, len(part), limit/2)
	p, err := profile.ParseData(part)
	require.NoError(t, err)
	for _, s := range p.Sample {
		assert.Greater(t, s.Value[0], int64(2000-len(p.Sample)))
	}
	none, err := PGO(many(10), 5, 1)
	require.NoError(t, err, "a limit that nothing fits in ends too")
	assert.NotEmpty(t, none)
	_, err = PGO(&profile.Profile{}, 5, 1)
	require.ErrorIs(t, err, ErrNoStartLines)
}

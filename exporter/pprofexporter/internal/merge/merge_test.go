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

// Without gauges the result is google/pprof's, however many there are: merging in parts changes nothing.
func TestProfilesIsMerge(t *testing.T) {
	names := []string{"mutex.pb.gz", "block.pb.gz"}
	for _, n := range []int{1, 2, chunkSize, chunkSize + 1, 3*chunkSize + 5} {
		var entries []*recent.Entry
		var parsed []*profile.Profile
		for i := range n {
			data := own(t, names[i%len(names)])
			p, err := profile.ParseData(data)
			require.NoError(t, err)
			parsed = append(parsed, p)
			entries = append(entries, &recent.Entry{Gzip: data})
		}
		want, err := profile.Merge(parsed)
		require.NoError(t, err)
		got, err := Profiles(t.Context(), entries)
		require.NoError(t, err)
		assert.Empty(t, profiletest.DiffPprof(want, got), n)
		assert.Equal(t, want.DurationNanos, got.DurationNanos)
		assert.Equal(t, want.TimeNanos, got.TimeNanos)
	}
}

func TestProfilesEndsWithTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Profiles(ctx, []*recent.Entry{{Gzip: own(t, "cpu.pb.gz")}})
	require.ErrorIs(t, err, context.Canceled)
	_, err = Profiles(t.Context(), []*recent.Entry{{Gzip: []byte("no")}})
	require.ErrorContains(t, err, "cannot read a profile that is held")
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

// Merging is google/pprof's own, so what is to be seen here is what reading costs beside it.
//
// go test ./exporter/pprofexporter/internal/merge -run '^$' -bench Merge.
func BenchmarkMerge(b *testing.B) {
	data := own(b, "cpu.pb.gz")
	entries := make([]*recent.Entry, 100)
	for i := range entries {
		entries[i] = &recent.Entry{Gzip: bytes.Clone(data)}
	}
	b.Run("op=merge-of-held", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := Profiles(b.Context(), entries)
			require.NoError(b, err)
		}
	})
	b.Run("op=google-pprof-merge-of-parsed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			parsed := make([]*profile.Profile, len(entries))
			for i, e := range entries {
				var err error
				parsed[i], err = profile.ParseData(e.Gzip)
				require.NoError(b, err)
			}
			b.StartTimer()
			_, err := profile.Merge(parsed)
			require.NoError(b, err)
		}
	})
}

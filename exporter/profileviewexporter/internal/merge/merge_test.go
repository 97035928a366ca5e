// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package merge_test

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// merged returns the profiles of a store as one pprof.
func merged(tb testing.TB, profiles ...[]byte) []byte {
	tb.Helper()
	s := store.New(store.Limits{Memory: math.MaxInt64, PerSeries: math.MaxInt}, func(store.Reason) {})
	for _, raw := range profiles {
		p, err := s.Add(store.Upload{Resource: store.NewResource("", pcommon.NewMap()), Type: "x", Pprof: raw, Time: time.Unix(1, 0)}, nil)
		require.NoError(tb, err)
		require.NotNil(tb, p)
	}
	found, _ := s.Search(&store.Query{})
	filter := must.Get(query.NewFilter(nil))(tb)
	m := merge.New(nil)
	selection := must.Get(query.Select(found, filter, query.All, nil))(tb)
	require.NoError(tb, m.Add(selection))
	out := must.Get(m.Pprof())(tb)
	return out
}

func parsed(tb testing.TB, raw []byte) *profile.Profile {
	tb.Helper()
	p := must.Get(profile.ParseData(raw))(tb)
	require.NoError(tb, p.CheckValid())
	return p
}

// sorted sorts the mappings after the first, which is the program: those of google/pprof are in the order of the samples.
func sorted(p *profile.Profile) *profile.Profile {
	if len(p.Mapping) > 1 {
		slices.SortFunc(p.Mapping[1:], func(a, b *profile.Mapping) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.File, b.File), cmp.Compare(a.BuildID, b.BuildID))
		})
	}
	for i, m := range p.Mapping {
		m.ID = uint64(i + 1)
	}
	return p
}

// The result is that of google/pprof: one profile stays as it is, and two are what its Merge returns.
func TestMergeLikeGoogle(t *testing.T) {
	for _, file := range profiletest.OwnPprofs(t) {
		raw := must.Get(inflate.Append(nil, file.Bytes(t), 1<<30))(t)
		p, err := profile.ParseData(raw)
		if err != nil || len(p.Sample) == 0 {
			continue
		}
		p.TimeNanos, p.DurationNanos = int64(time.Second), 0
		one := must.Get(profile.Merge([]*profile.Profile{p}))(t)
		assert.Empty(t, profiletest.DiffPprof(sorted(one), sorted(parsed(t, merged(t, raw)))), file.Name)
		two := must.Get(profile.Merge([]*profile.Profile{p, p.Copy()}))(t)
		assert.Empty(t, profiletest.DiffPprof(sorted(two), sorted(parsed(t, merged(t, raw, raw)))), file.Name)
	}
}

const (
	windowOf = 100
	// variants is the number of different profiles. Of profiles every few seconds, the first have new stacks and later ones hardly any.
	variants = 10
)

// window returns a store of profiles, and the same gzipped for google/pprof. Each has a different selection of nine tenths of the samples
// of p.
func window(b *testing.B, p *profile.Profile) (held *store.Store, gzipped [][]byte) {
	b.Helper()
	held = store.New(store.Limits{Memory: math.MaxInt64, PerSeries: math.MaxInt}, func(store.Reason) {})
	var raw, zipped [variants][]byte
	for i := range raw {
		part := p.Copy()
		kept := part.Sample[:0]
		for j, s := range part.Sample {
			if j%variants != i {
				kept = append(kept, s)
			}
		}
		part.Sample = kept
		var out bytes.Buffer
		require.NoError(b, part.Compact().WriteUncompressed(&out))
		raw[i] = out.Bytes()
		var err error
		zipped[i], err = pprof.AppendGzip(nil, raw[i], 1)
		require.NoError(b, err)
	}
	for i := range windowOf {
		u := store.Upload{Resource: store.NewResource("", pcommon.NewMap()), Type: "cpu", Pprof: raw[i%variants], Time: time.Unix(int64(i+1), 0)}
		_, err := held.Add(u, nil)
		require.NoError(b, err)
		gzipped = append(gzipped, bytes.Clone(zipped[i%variants]))
	}
	return held, gzipped
}

// BenchmarkWindow measures the cost of a request for a window of 100 profiles. op=otelpprof begins with the profiles of a store, and
// ends with the bytes of the sum. op=google is only profile.Merge of google/pprof, with profiles that were read before.
// op=google-held begins with gzipped pprofs, and ends with the bytes.
//
//	go -C exporter/profileviewexporter test ./internal/merge -run '^$' -bench Window -benchmem -cpu 1
func BenchmarkWindow(b *testing.B) {
	for _, file := range profiletest.OwnPprofs(b) {
		name := map[string]string{"pprof/cpu.pb.gz": "go-cpu-100KB", "pprof/labelled.pb.gz": "cpu-labelled-4KB"}[file.Name]
		if name == "" {
			continue
		}
		p := must.Get(profile.ParseData(file.Bytes(b)))(b)
		held, gzipped := window(b, p)
		b.Run("profile="+name+"/op=otelpprof", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found, _ := held.Search(&store.Query{})
				filter, err := query.NewFilter(nil)
				require.NoError(b, err)
				m := merge.New(nil)
				selection, err := query.Select(found, filter, query.All, nil)
				require.NoError(b, err)
				require.NoError(b, m.Add(selection))
				_, err = m.Pprof()
				require.NoError(b, err)
			}
		})
		b.Run("profile="+name+"/op=google", func(b *testing.B) {
			parsed := parseAll(b, gzipped)
			b.ReportAllocs()
			for b.Loop() { // Merge does not change its input
				_, err := profile.Merge(parsed)
				require.NoError(b, err)
			}
		})
		b.Run("profile="+name+"/op=google-held", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				merged := must.Get(profile.Merge(parseAll(b, gzipped)))(b)
				var out bytes.Buffer
				require.NoError(b, merged.WriteUncompressed(&out))
			}
		})
	}
}

func parseAll(b *testing.B, gzipped [][]byte) []*profile.Profile {
	b.Helper()
	parsed := make([]*profile.Profile, len(gzipped))
	for i, data := range gzipped {
		var err error
		parsed[i], err = profile.ParseData(data)
		require.NoError(b, err)
	}
	return parsed
}

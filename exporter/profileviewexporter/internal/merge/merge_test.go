// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package merge_test

import (
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
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
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
	filter, err := query.NewFilter(nil)
	require.NoError(tb, err)
	m := merge.New(nil)
	selection, err := query.Select(found, filter, query.All, nil)
	require.NoError(tb, err)
	require.NoError(tb, m.Add(selection))
	out, err := m.Pprof()
	require.NoError(tb, err)
	return out
}

func parsed(tb testing.TB, raw []byte) *profile.Profile {
	tb.Helper()
	p, err := profile.ParseData(raw)
	require.NoError(tb, err)
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
		raw, err := inflate.Append(nil, file.Bytes(t), 1<<30)
		require.NoError(t, err)
		p, err := profile.ParseData(raw)
		if err != nil || len(p.Sample) == 0 {
			continue
		}
		p.TimeNanos, p.DurationNanos = int64(time.Second), 0
		one, err := profile.Merge([]*profile.Profile{p})
		require.NoError(t, err)
		assert.Empty(t, profiletest.DiffPprof(sorted(one), sorted(parsed(t, merged(t, raw)))), file.Name)
		two, err := profile.Merge([]*profile.Profile{p, p.Copy()})
		require.NoError(t, err)
		assert.Empty(t, profiletest.DiffPprof(sorted(two), sorted(parsed(t, merged(t, raw, raw)))), file.Name)
	}
}

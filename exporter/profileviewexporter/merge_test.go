// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// mergedAll returns the profiles of a store as one pprof.
func (h holding) mergedAll(tb testing.TB) []byte {
	tb.Helper()
	c := call{viewExporter: h.viewExporter, work: &meter.Meter{}}
	filter := must.Get(c.newFilter(nil, nil, nil))(tb)
	found, _, err := c.search(&store.Query{}, filter)
	require.NoError(tb, err)
	selection := must.Get(c.selection(found, filter, ""))(tb)
	m := must.Get(c.merge(selection, 0))(tb)
	return must.Get(m.pprof())(tb)
}

// merged returns profiles as one pprof.
func merged(tb testing.TB, profiles ...[]byte) []byte {
	tb.Helper()
	d := newHolding(tb, math.MaxInt64)
	for _, raw := range profiles {
		d.hold(tb, raw, "x", nil)
	}
	return d.mergedAll(tb)
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
		raw := profiletest.Inflate(t, file.Bytes(t))
		p, err := profile.ParseData(raw)
		if err != nil || len(p.Sample) == 0 {
			continue
		}
		one := must.Get(profile.Merge([]*profile.Profile{p}))(t)
		assert.Empty(t, profiletest.DiffPprof(sorted(one), sorted(parsed(t, merged(t, raw)))), file.Name)
		two := must.Get(profile.Merge([]*profile.Profile{p, p.Copy()}))(t)
		assert.Empty(t, profiletest.DiffPprof(sorted(two), sorted(parsed(t, merged(t, raw, raw)))), file.Name)
	}
}

// A line keeps its place if its function has no name, as encoders write one for lines without a function.
func TestMergeNamelessFunctions(t *testing.T) {
	nameless, named := &profile.Function{ID: 1}, &profile.Function{ID: 2, Name: "f"}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, TimeNanos: 1e18, DurationNanos: 1e9,
		Function: []*profile.Function{nameless, named},
		Location: []*profile.Location{
			{ID: 1, Address: 16, Line: []profile.Line{{Function: nameless}}},
			{ID: 2, Address: 32, Line: []profile.Line{{Function: named, Line: 3}, {Function: nameless, Line: 7}}},
		},
	}
	p.Sample = []*profile.Sample{{Location: p.Location, Value: []int64{5}}}
	var raw bytes.Buffer
	require.NoError(t, p.WriteUncompressed(&raw))
	assert.Empty(t, profiletest.DiffPprof(p, parsed(t, merged(t, raw.Bytes()))))
}

const (
	windowOf = 100
	// variants is the number of different profiles. Of profiles every few seconds, the first have new stacks and later ones hardly any.
	variants = 10
)

// windowed returns a store of profiles, and the same gzipped for google/pprof. Each has a different selection of nine tenths of the samples
// of p.
func windowed(b *testing.B, p *profile.Profile) (held holding, gzipped [][]byte) {
	b.Helper()
	held = newHolding(b, math.MaxInt64)
	for i := range variants {
		part := p.Copy()
		kept := part.Sample[:0]
		for j, s := range part.Sample {
			if j%variants != i {
				kept = append(kept, s)
			}
		}
		part.Sample = kept
		gzipped = append(gzipped, written(b, part.Compact()))
	}
	for i := range windowOf {
		if i >= variants {
			gzipped = append(gzipped, bytes.Clone(gzipped[i%variants]))
		}
		held.hold(b, gzipped[i], "cpu", nil)
	}
	return held, gzipped
}

// BenchmarkWindow measures the cost of a request for a window of 100 profiles. op=otelpprof begins with the profiles of a store, and
// ends with the bytes of the sum. op=google is only profile.Merge of google/pprof, with profiles that were read before.
// op=google-held begins with gzipped pprofs, and ends with the bytes.
//
//	go -C exporter/profileviewexporter test -run '^$' -bench Window -benchmem -cpu 1
func BenchmarkWindow(b *testing.B) {
	for _, file := range profiletest.OwnPprofs(b) {
		name := map[string]string{"pprof/cpu.pb.gz": "go-cpu-100KB", "pprof/labelled.pb.gz": "cpu-labelled-4KB"}[file.Name]
		if name == "" {
			continue
		}
		p := must.Get(profile.ParseData(file.Bytes(b)))(b)
		held, gzipped := windowed(b, p)
		b.Run("profile="+name+"/op=otelpprof", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				held.mergedAll(b)
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

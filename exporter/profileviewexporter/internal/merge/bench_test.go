// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"bytes"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// windowOf is the number of profiles in the window of the benchmark.
const windowOf = 100

// variants is the number of different profiles. Of profiles every few seconds, the first have new stacks and later ones hardly
// any.
const variants = 10

// window returns profiles in the form of the store, and gzipped for google/pprof. Each has a different selection of nine tenths
// of the samples of p.
func window(b *testing.B, p *profile.Profile) (entries []*recent.Entry, gzipped [][]byte) {
	b.Helper()
	var held, zipped [variants][]byte
	for i := range held {
		part := p.Copy()
		part.TimeNanos += int64(i)
		kept := part.Sample[:0]
		for j, s := range part.Sample {
			if j%variants != i {
				kept = append(kept, s)
			}
		}
		part.Sample = kept
		var raw bytes.Buffer
		require.NoError(b, part.Compact().WriteUncompressed(&raw))
		var err error
		held[i] = recent.Compress(raw.Bytes())
		zipped[i], err = pprof.AppendGzip(nil, raw.Bytes(), 1)
		require.NoError(b, err)
	}
	for i := range windowOf {
		entries = append(entries, &recent.Entry{Compressed: bytes.Clone(held[i%variants])})
		gzipped = append(gzipped, bytes.Clone(zipped[i%variants]))
	}
	return entries, gzipped
}

// BenchmarkWindow measures the cost of a request for a window of 100 profiles. op=otelpprof begins with compressed entries, and
// ends with the bytes of the sum. op=google is only profile.Merge of google/pprof, with profiles that were read before.
// op=google-held begins and ends like op=otelpprof.
//
//	go test ./exporter/profileviewexporter/internal/merge -run '^$' -bench Window -benchmem -cpu 1
func BenchmarkWindow(b *testing.B) {
	for _, file := range [][2]string{{"go-cpu-100KB", "cpu.pb.gz"}, {"cpu-labelled-4KB", "labelled.pb.gz"}} {
		name, data := file[0], own(b, file[1])
		p, err := profile.ParseData(data)
		require.NoError(b, err)
		entries, gzipped := window(b, p)
		b.Run("profile="+name+"/op=otelpprof", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := Profiles(&Work{Context: b.Context()}, entries)
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
				merged, err := profile.Merge(parseAll(b, gzipped))
				require.NoError(b, err)
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

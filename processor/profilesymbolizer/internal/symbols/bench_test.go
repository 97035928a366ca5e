// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// benchmarked returns the file to measure: OTELPPROF_SYMBOLS_FILE, or this test, which has Go's table of functions.
func benchmarked(b *testing.B) string {
	b.Helper()
	if name := os.Getenv("OTELPPROF_SYMBOLS_FILE"); name != "" {
		return name
	}
	name, err := os.Executable()
	require.NoError(b, err)
	return name
}

// BenchmarkBuild makes an index. Run it with: go test -run '^$' -bench Build -benchmem ./internal/symbols.
func BenchmarkBuild(b *testing.B) {
	f, err := os.Open(benchmarked(b))
	require.NoError(b, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(b, err)
	out, err := os.Create(filepath.Join(b.TempDir(), "index"))
	require.NoError(b, err)
	defer out.Close()
	b.SetBytes(info.Size())
	b.ReportAllocs()
	var most, size int64
	for b.Loop() {
		memory := meter.New(0, func(total int64) error {
			most = max(most, total)
			return nil
		})
		file, err := elffile.Open(f, info.Size(), memory)
		require.NoError(b, err)
		result, err := Build(file, out, memory)
		require.NoError(b, err)
		size = result.Bytes
	}
	b.ReportMetric(float64(most)/(1<<20), "MiB-reserved")
	b.ReportMetric(float64(size)/(1<<20), "MiB-index")
}

// BenchmarkLookup looks random addresses of the code up.
func BenchmarkLookup(b *testing.B) {
	table, _ := build(b, benchmarked(b))
	low, high := table.Bounds()
	random := rand.New(rand.NewPCG(1, 2))
	list := make([]uint64, 1<<16)
	for i := range list {
		list[i] = low + random.Uint64N(high-low)
	}
	var frames []index.Frame
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		frames = table.Lookup(frames[:0], list[i%len(list)])
		i++
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/requirement"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// largeUnits is how many units make a file of about 100 MB.
const largeUnits = 60

// largeFile compiles a unit and links copies of it, with names of their own.
func largeFile(b *testing.B) string {
	b.Helper()
	requirement.Symbolizers(b, "g++", "objcopy", "ld", "llvm-dwarfdump")
	directory := b.TempDir()
	run := func(name string, arguments ...string) {
		out, err := exec.Command(name, arguments...).CombinedOutput()
		require.NoError(b, err, "%s", out)
	}
	unit, name := filepath.Join(directory, "unit.o"), filepath.Join(directory, "large.so")
	run("g++", "-O2", "-g", "-fPIC", "-c", "-o", unit, "testdata/large.cc")
	link := []string{"-shared", "--unresolved-symbols=ignore-all", "-o", name}
	for i := range largeUnits {
		part := filepath.Join(directory, fmt.Sprintf("%d.o", i))
		run("objcopy", fmt.Sprintf("--prefix-symbols=unit%d_", i), unit, part)
		link = append(link, part)
	}
	run("ld", link...)
	return name
}

// BenchmarkIndex makes the index of a file of about 100 MB, and looks random addresses of its code up. The reference is llvm-dwarfdump.
// MiB-process is the largest memory of the process so far.
//
//	go test -run '^$' -bench Index -benchmem -cpu 1 ./internal/symbols
func BenchmarkIndex(b *testing.B) {
	name := largeFile(b)
	f := must.Get(os.Open(name))(b)
	defer f.Close()
	info := must.Get(f.Stat())(b)
	b.Run("op=llvm-dwarfdump", func(b *testing.B) {
		b.SetBytes(info.Size())
		for b.Loop() {
			require.NoError(b, exec.Command("llvm-dwarfdump", "--statistics", name).Run())
		}
	})
	out := must.Get(os.Create(filepath.Join(b.TempDir(), "index")))(b)
	defer out.Close()
	b.Run("op=build", func(b *testing.B) {
		b.SetBytes(info.Size())
		b.ReportAllocs()
		for b.Loop() {
			memory := meter.New(0, nil)
			file := must.Get(elffile.Open(f, info.Size(), memory))(b)
			result := must.Get(Build(file, out, memory))(b)
			require.Equal(b, index.QualityLines, result.Quality)
		}
		b.ReportMetric(largestMemory(b), "MiB-process")
	})
	b.Run("op=look-up", func(b *testing.B) { benchmarkLookups(b, name, out.Name()) })
}

// largestMemory is that of this process, in MiB.
func largestMemory(b *testing.B) float64 {
	b.Helper()
	status := must.Get(os.ReadFile("/proc/self/status"))(b)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(b, found)
	kilobytes := must.Get(strconv.Atoi(string(found[1])))(b)
	return float64(kilobytes) / 1024
}

// benchmarkLookups looks up addresses of a file in its index.
func benchmarkLookups(b *testing.B, name, indexName string) {
	b.Helper()
	table := must.Get(index.Read(must.Get(os.ReadFile(indexName))(b)))(b)
	file := must.Get(elf.Open(name))(b)
	defer file.Close()
	code := file.Section(".text")
	random := rand.New(rand.NewPCG(1, 2))
	list := make([]uint64, 1<<16)
	for i := range list {
		list[i] = code.Addr + random.Uint64N(code.Size)
	}
	var frames []index.Frame
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		frames = table.Lookup(frames[:0], list[i%len(list)])
		i++
	}
}

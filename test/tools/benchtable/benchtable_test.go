// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

var update = flag.Bool("update", false, "update the golden file")

func TestRender(t *testing.T) {
	input := must.Get(os.Open("testdata/bench.txt"))(t)
	defer input.Close()
	res := must.Get(parse(input))(t)
	assert.Equal(t, 3, res.count)
	assert.Equal(t, map[string][]string{
		"Decode": {"go-cpu-100KB", "deep"}, "Encode": {"go-cpu-100KB", "deep"}, "Batch": {"cpu.pb.gz"},
		"SplunkRecord": {"java", "js-alloc"}, "SplunkText": {"java", "js"}, "JFR": {"kafka", "dense"}, "Format": {"folded"},
		"Deduplicate": {"java"}, "Doubled": {"java"}, "Canonical": {"java"},
	}, res.order)

	got := must.Get(render(res, "make bench", "go1.26.0"))(t)
	if *update {
		require.NoError(t, os.WriteFile("testdata/performance.golden.md", []byte(got), 0o600))
	}
	want := must.Get(os.ReadFile("testdata/performance.golden.md"))(t)
	assert.Equal(t, string(want), got)
}

func TestRefused(t *testing.T) {
	const decode = "BenchmarkDecode/profile=p/op=otelpprof-2 10 100 ns/op 5 B/op 1 allocs/op\n"
	for _, test := range []struct{ name, input, want string }{
		{name: "empty", input: "", want: "cannot find a benchmark"},
		{name: "failed run", input: decode + "--- FAIL: BenchmarkEncode\n", want: "a run that failed"},
		{name: "not a number", input: strings.Replace(decode, "100 ns", "x ns", 1), want: "cannot read a value of Decode/profile=p/op=otelpprof"},
		{name: "without its reference", input: decode, want: "BenchmarkDecode/profile=p/op=limit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			res, err := parse(strings.NewReader(test.input))
			if err == nil {
				_, err = render(res, "make bench", "go1.26.0")
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestRenderSymbols(t *testing.T) {
	const message = "BenchmarkMessage 10 700000 ns/op 60000 ns-names/op 10.52 percent\n"
	res, err := parse(strings.NewReader(message + "BenchmarkIndex/op=llvm-dwarfdump 1 2000000000 ns/op\n" +
		"BenchmarkIndex/op=build 1 1000000000 ns/op 60 MB/s 241.8 MiB-process 5 B/op 1 allocs/op\nBenchmarkIndex/op=look-up 100 800 ns/op\n"))
	require.NoError(t, err)
	var out strings.Builder
	renderSymbols(&out, res)
	assert.Contains(t, out.String(), "`llvm-dwarfdump --statistics` | 0.50 | ≤ 3 |\n| the largest memory of that process, MiB | 242 | ≤ 256 |\n"+
		"| look-ups of random addresses of the file, million per second and core | 1.25 | ≥ 1 |\n"+
		"| naming the message, % of the time of all else | 10.5 ✗ | ≤ 10 |\n")
	assert.NotContains(t, out.String(), "not measured")

	res, err = parse(strings.NewReader(message))
	require.NoError(t, err)
	out.Reset()
	renderSymbols(&out, res)
	assert.NotContains(t, out.String(), "llvm-dwarfdump")
	assert.Contains(t, out.String(), "\nThe index was not measured: that needs g++, binutils and llvm.\n")
	out.Reset()
	renderSymbols(&out, &results{})
	assert.Empty(t, out.String())
}

func TestRenderPages(t *testing.T) {
	res := must.Get(parse(strings.NewReader("BenchmarkServerPages/page=list 10 67000000 ns/op 19000000 B/op 434849 allocs/op\n" +
		"BenchmarkServerPages/page=flamegraph 1 1500000000 ns/op 5 B/op 1 allocs/op\n" +
		"BenchmarkServerPages/page=heap 1 150000000 ns/op 5 B/op 1 allocs/op\nBenchmarkServerHeld 1 17000000000 ns/op 300.2 MiB-held\n")))(t)
	var out strings.Builder
	renderPages(&out, res)
	assert.Contains(t, out.String(), "| flamegraph | 1.50 s ✗ | 1s | 5 B | 1 |\n| heap | 150.00 ms ✗ | 100ms | 5 B | 1 |\n"+
		"| list | 67.00 ms | 1s | 19,000,000 B | 434,849 |\n")
	assert.Contains(t, out.String(), "are held in **300 MiB** ✗ (target ≤ 256 MiB)")
	out.Reset()
	renderPages(&out, &results{})
	assert.Empty(t, out.String())
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRenderPages(t *testing.T) {
	res, err := parse(strings.NewReader("BenchmarkServerPages/page=list 10 67000000 ns/op 19000000 B/op 434849 allocs/op\n" +
		"BenchmarkServerPages/page=flamegraph 1 1500000000 ns/op 5 B/op 1 allocs/op\n" +
		"BenchmarkServerPages/page=heap 1 150000000 ns/op 5 B/op 1 allocs/op\nBenchmarkServerHeld 1 17000000000 ns/op 300.2 MiB-held\n"))
	require.NoError(t, err)
	var out strings.Builder
	renderPages(&out, res)
	assert.Contains(t, out.String(), "| flamegraph | 1.50 s ✗ | 1s | 5 B | 1 |\n| heap | 150.00 ms ✗ | 100ms | 5 B | 1 |\n"+
		"| list | 67.00 ms | 1s | 19,000,000 B | 434,849 |\n")
	assert.Contains(t, out.String(), "are held in **300 MiB** ✗ (target ≤ 256 MiB)")
	out.Reset()
	renderPages(&out, &results{})
	assert.Empty(t, out.String())
}

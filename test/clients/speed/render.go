// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// goal is what an upload may cost, in times of the translator's own cost.
const goal = 2

// render makes the section of docs/performance.md.
func render(o options, size int, results []*result) string {
	var out strings.Builder
	fmt.Fprintf(&out, `
## The gateway: what an upload costs

The built distribution, with the pprof receiver and an exporter that drops everything, takes a CPU profile of %d kB from
another process over loopback, %d uploads under way at a time. The CPU time is that of its whole process, garbage
collection included; that of the translator alone is for the same bytes, inflating included, in a process that does
nothing else meanwhile. Medians of %d rounds of %d uploads; times to the answer are of all uploads, and depend on how busy the
machine is. The goal is at most %d times the translator.

| API | path | gateway, CPU per profile | translator, CPU per profile | ratio | answer: median | 99%% within |
|---|---|---:|---:|---:|---:|---:|
`, (size+500)/1000, o.senders, o.rounds, o.uploads, goal)
	for _, r := range results {
		gateway, decoding := quantile(r.gateway, 0.5), quantile(r.decoding, 0.5)
		fmt.Fprintf(&out, "| %s | `%s` | %s | %s | %.2f | %s | %s |\n", r.api, r.path, milliseconds(gateway), milliseconds(decoding),
			float64(gateway)/float64(max(decoding, 1)), milliseconds(quantile(r.latencies, 0.5)), milliseconds(quantile(r.latencies, 0.99)))
	}
	out.WriteString("\nMade by `go -C test/clients run ./speed`.\n")
	return out.String()
}

// quantile is the smallest of the times that this part of all does not exceed.
func quantile(times []time.Duration, part float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// goal is what an upload may cost, in times of the work that no gateway can avoid.
const goal = 1.5

// render makes the section of docs/performance.md.
func render(o options, size int, results []*result) string {
	var out strings.Builder
	fmt.Fprintf(&out, `
## The gateway: what an upload costs

The built distribution takes a CPU profile of %d kB over loopback, %d uploads at a time, and sends it to a server that
drops it, or writes it to files. The CPU time is that of its process until it is idle again, garbage collection included. The limit is
the CPU time of the work that no gateway can avoid: inflating, base64, (un)marshalling with pdata, zstd to OTLP, gzip to files, at level 1.
Medians of %d rounds of %d uploads. The goal is at most %.1f times the limit. `+"`-pgo`"+` saved no measurable CPU time.

| API | output | gateway, CPU per profile, ms | limit, ms | ratio |
|---|---|---:|---:|---:|
`, (size+500)/1000, o.senders, o.rounds, o.uploads, goal)
	for _, r := range results {
		gateway, limit := quantile(r.gateway, 0.5), quantile(r.limit, 0.5)
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", r.upload.api, r.output.name,
			inMilliseconds(gateway), inMilliseconds(limit), marked(float64(gateway)/float64(max(limit, 1)), goal))
	}
	return out.String()
}

// quantile returns the smallest of the times that at least this part of all does not exceed.
func quantile(times []time.Duration, part float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(int(math.Ceil(part*float64(len(sorted))))-1, 0)]
}

func milliseconds(d time.Duration) string { return inMilliseconds(d) + " ms" }

// inMilliseconds leaves the unit to the head of the column.
func inMilliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond))
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// pageTarget is the maximum time for a page.
const pageTarget = time.Second

// renderPages writes the times of the pages of profile_view, if they were measured.
func renderPages(out *strings.Builder, res *results) {
	pages := map[string]*measurement{}
	for name, m := range res.measured {
		if page := part(name, "page"); page != "" && strings.HasPrefix(name, "ServerPages/") {
			pages[page] = m
		}
	}
	if len(pages) == 0 {
		return
	}
	fmt.Fprintf(out, "\n## Pages\n\nThe answers of the exporter `profile_view`. `heap` is the example of 1.3 MB 25 times, 32 MiB together; `hour` has 240 profiles of CPU time. Beside them, it holds a profile of each of 1000 services.\n\n| page | time (target ≤ %s) | memory | allocations |\n|---|---:|---:|---:|\n", pageTarget)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		m := pages[page]
		mark := ""
		if nanoseconds(m) > float64(pageTarget) {
			mark = " ✗"
		}
		fmt.Fprintf(out, "| %s | %s%s | %s B | %s |\n", page, duration(nanoseconds(m)), mark, thousands(median(m.bytes)), thousands(allocations(m)))
	}
}

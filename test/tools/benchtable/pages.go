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
	fmt.Fprintf(out, "\n## Pages\n\nThe answers of the exporter `profile_view` while it holds 12,000 profiles of 1000 services with 4 types each. The list has 2000 rows.\n\n| page | time (target ≤ %s) | memory | allocations |\n|---|---:|---:|---:|\n", pageTarget)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		m := pages[page]
		mark := ""
		if nanoseconds(m) > float64(pageTarget) {
			mark = " ✗"
		}
		fmt.Fprintf(out, "| %s | %s%s | %s B | %s |\n", page, duration(nanoseconds(m)), mark, thousands(median(m.bytes)), thousands(allocations(m)))
	}
}

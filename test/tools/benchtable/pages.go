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

// The targets of profile_view: the time of an answer, that of all that the page of the heap asks for, and the memory of a fleet.
const (
	pageTarget = time.Second
	heapTarget = 100 * time.Millisecond
	heldTarget = 256 // MiB
)

// renderPages writes the times of the pages of profile_view, and the memory of what it holds, if they were measured.
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
	fmt.Fprintf(out, "\n## Pages\n\nThe answers of the exporter `profile_view`, in gzip. `heap` is all that the page asks for: the list, a flame graph of up to 100,000 nodes and the table of functions, of the example of 1.3 MB 25 times, 32 MiB together. `hour` has 240 profiles of CPU time. Beside them, it holds a profile of each of 1000 services.\n\n| page | time | target | memory | allocations |\n|---|---:|---:|---:|---:|\n")
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		m := pages[page]
		target, mark := pageTarget, ""
		if page == "heap" {
			target = heapTarget
		}
		if nanoseconds(m) > float64(target) {
			mark = " ✗"
		}
		fmt.Fprintf(out, "| %s | %s%s | %s | %s B | %s |\n", page, duration(nanoseconds(m)), mark, target, thousands(median(m.bytes)), thousands(allocations(m)))
	}
	if m := res.measured["ServerHeld"]; m != nil {
		mark := ""
		if median(m.held) > heldTarget {
			mark = " ✗"
		}
		fmt.Fprintf(out, "\n200 services with 5 types and 15 minutes of profiles every 15 seconds, of 100 stacks each, are held in **%.0f MiB**%s (target ≤ %d MiB).\n", median(m.held), mark, heldTarget)
	}
}

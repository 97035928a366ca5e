// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// memoryTarget is how much of the memory of what is held a batch may take, at most.
const memoryTarget = 1.5

// batchPoint is what was measured of a number of messages that become one.
type batchPoint struct {
	profile  string
	messages int
	*measurement
}

// batchPoints are those of one benchmark for which values were measured, by profile and number of messages.
func batchPoints(res *results, group string, values func(*measurement) []float64) (points []batchPoint) {
	for name, m := range res.measured {
		messages, err := strconv.Atoi(part(name, "messages"))
		if err == nil && strings.HasPrefix(name, group+"/") && len(values(m)) > 0 {
			points = append(points, batchPoint{part(name, "profile"), messages, m})
		}
	}
	slices.SortFunc(points, func(a, b batchPoint) int {
		return cmp.Or(cmp.Compare(a.profile, b.profile), cmp.Compare(a.messages, b.messages))
	})
	return points
}

// renderMergeScale writes what one message costs among many that become one, where that was measured.
func renderMergeScale(out *strings.Builder, res *results) {
	points := batchPoints(res, "MergeScale", func(m *measurement) []float64 { return m.perMessage })
	if len(points) == 0 {
		return
	}
	out.WriteString("\n## Many messages into one\n\nMessages of 4000 stacks that share half of their entries; all are held until the last has come. The work for a message is the same, but from some hundred megabytes on each look into a table of the dictionary misses the processor's caches.\n\n| messages | time a message, median | fastest |\n|---:|---:|---:|\n")
	for _, p := range points {
		fmt.Fprintf(out, "| %d | %s | %s |\n", p.messages, duration(median(p.perMessage)), duration(slices.Min(p.perMessage)))
	}
}

// renderBatchMemory writes what a batch takes at most, where that was measured.
func renderBatchMemory(out *strings.Builder, res *results) {
	points := batchPoints(res, "Batch", func(m *measurement) []float64 { return m.memoryRatio })
	if len(points) == 0 {
		return
	}
	out.WriteString("\n## Memory while batching\n\nUploads that the processor holds and joins: the heap in use when the last part was delivered, nothing of it collected since the first message came, by that of the messages that were held.\n\n| profile | messages | memory ÷ held |\n|---|---:|---:|\n")
	for _, p := range points {
		mark := ""
		if median(p.memoryRatio) > memoryTarget {
			mark = " ✗"
		}
		fmt.Fprintf(out, "| %s | %d | %.2f%s |\n", p.profile, p.messages, median(p.memoryRatio), mark)
	}
	fmt.Fprintf(out, "\nTarget: any ≤ %g.\n", memoryTarget)
}

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

// memoryTarget is the maximum memory of a batch, as a multiple of the memory of the messages in it.
const memoryTarget = 1.5

// batchPoint has the measurements for a number of messages that become one.
type batchPoint struct {
	profile  string
	messages int
	*measurement
}

// batchPoints returns the points of one benchmark, by profile and number of messages.
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

// renderMergeScale writes the time for one message when many become one, if it was measured.
func renderMergeScale(out *strings.Builder, res *results) {
	points := batchPoints(res, "MergeScale", func(m *measurement) []float64 { return m.perMessage })
	if len(points) == 0 {
		return
	}
	out.WriteString("\n## Many messages into one\n\nMessages of 4000 stacks that share half of their entries, held until the last one arrives. Above some hundred megabytes, lookups miss the CPU caches.\n\n| messages | time per message, median | fastest |\n|---:|---:|---:|\n")
	for _, p := range points {
		fmt.Fprintf(out, "| %d | %s | %s |\n", p.messages, duration(median(p.perMessage)), duration(slices.Min(p.perMessage)))
	}
}

// renderBatchMemory writes the peak memory of a batch, if it was measured.
func renderBatchMemory(out *strings.Builder, res *results) {
	points := batchPoints(res, "Batch", func(m *measurement) []float64 { return m.memoryRatio })
	if len(points) == 0 {
		return
	}
	out.WriteString("\n## Memory while batching\n\nUploads that the processor holds and joins: the heap after the delivery, without garbage collection meanwhile, divided by the heap of the held messages.\n\n| profile | messages | memory ÷ held |\n|---|---:|---:|\n")
	for _, p := range points {
		mark := ""
		if median(p.memoryRatio) > memoryTarget {
			mark = " ✗"
		}
		fmt.Fprintf(out, "| %s | %d | %.2f%s |\n", p.profile, p.messages, median(p.memoryRatio), mark)
	}
	fmt.Fprintf(out, "\nTarget: any ≤ %g.\n", memoryTarget)
}

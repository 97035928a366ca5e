// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// The targets of profile_view: the time of an answer, that of all that the page of the heap asks for, and the memory of a fleet.
const (
	pageTarget = time.Second
	heapTarget = 100 * time.Millisecond
	heldTarget = 256 // MiB
)

// renderPages writes the times of the pages of profile_view, and the memory of what it holds, if they were measured.
func renderPages(out *strings.Builder, res *results) {
	pages := map[string]measurement{}
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
		target := pageTarget
		if page == "heap" {
			target = heapTarget
		}
		fmt.Fprintf(out, "| %s | %s%s | %s | %s B | %s |\n", page, duration(nanoseconds(m)), mark(nanoseconds(m) > float64(target)), target, thousands(median(m[unitBytes])), thousands(allocations(m)))
	}
	if m := res.measured["ServerHeld"]; m != nil {
		held := median(m[unitHeld])
		fmt.Fprintf(out, "\n200 services with 5 types and 15 minutes of profiles every 15 seconds, of 100 stacks each, are held in **%.0f MiB**%s (target ≤ %d MiB).\n", held, mark(held > heldTarget), heldTarget)
	}
}

// renderFormats writes how fast texts are read, where that was measured.
func renderFormats(out *strings.Builder, res *results) {
	header := "## Texts to OTLP\n\nFrom plain bytes to pdata, 20,000 samples each.\n\n| payload | MB/s | samples/s | allocations |\n|---|---:|---:|---:|\n"
	for _, profile := range res.order["Format"] {
		m, err := find(res, "Format", profile, "otelpprof")
		if err != nil {
			continue
		}
		out.WriteString(header)
		header = ""
		fmt.Fprintf(out, "| %s | %.0f | %s | %s |\n", profile, median(m[unitSpeed]), thousands(median(m[unitSamples])), thousands(allocations(m)))
	}
	if header == "" {
		out.WriteByte('\n')
	}
}

// textsTarget is the minimum speed of parsing texts of log records, in megabytes per second.
const textsTarget = 100

// renderTexts writes the speed of parsing the texts of Splunk's older agents, if it was measured.
func renderTexts(out *strings.Builder, res *results) error {
	const group = "SplunkText"
	if len(res.order[group]) == 0 {
		return nil
	}
	fmt.Fprintf(out, "## Splunk's text records to OTLP profiles\n\n`parse` parses the texts, `otelpprof` decodes the log records.\n\n| texts | parse, MB/s | allocations | otelpprof, MB/s | allocations |\n|---|---:|---:|---:|---:|\n")
	for _, profile := range res.order[group] {
		parse, err := find(res, group, profile, "parse")
		if err != nil {
			return err
		}
		decode, err := find(res, group, profile, "otelpprof")
		if err != nil {
			return err
		}
		speed := median(parse[unitSpeed])
		fmt.Fprintf(out, "| %s | %.0f%s | %s | %.0f | %s |\n", profile, speed, mark(speed < textsTarget), thousands(allocations(parse)),
			median(decode[unitSpeed]), thousands(allocations(decode)))
	}
	fmt.Fprintf(out, "\nTarget: parse any ≥ %d MB/s, without an allocation.\n\n", textsTarget)
	return nil
}

// scaleTarget is the maximum ratio of the costs per byte at different sizes.
const scaleTarget = 1.3

// renderScale writes the cost per byte of one profile at several sizes.
func renderScale(out *strings.Builder, res *results) error {
	type point struct {
		factor int
		cost   float64 // nanoseconds per byte
	}
	var points []point
	for name, m := range res.measured {
		text := part(name, "factor")
		if !strings.HasPrefix(name, "DecodeScale/") || text == "" {
			continue
		}
		factor, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("cannot read the factor of %s: %w", name, err)
		}
		if median(m[unitSpeed]) == 0 {
			return fmt.Errorf("cannot tell the cost per byte of %s: the benchmark sets no bytes", name)
		}
		points = append(points, point{factor, 1000 / median(m[unitSpeed])})
	}
	if len(points) < 2 {
		return errors.New("cannot find two sizes of BenchmarkDecodeScale")
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.factor, b.factor) })
	out.WriteString("## Cost against size\n\nOne profile at several times its size, pprof to OTLP.\n\n| size | ns per byte |\n|---:|---:|\n")
	low, high := math.Inf(1), 0.0
	for _, p := range points {
		low, high = min(low, p.cost), max(high, p.cost)
		fmt.Fprintf(out, "| %d× | %.2f |\n", p.factor, p.cost)
	}
	fmt.Fprintf(out, "\nDearest ÷ cheapest: **%.2f**%s (target ≤ %g).\n", high/low, mark(high/low > scaleTarget), scaleTarget)
	return nil
}

// duration formats a duration with a suitable unit.
func duration(nanoseconds float64) string {
	switch {
	case nanoseconds >= 1e9:
		return fmt.Sprintf("%.2f s", nanoseconds/1e9)
	case nanoseconds >= 1e6:
		return fmt.Sprintf("%.2f ms", nanoseconds/1e6)
	default:
		return fmt.Sprintf("%.1f µs", nanoseconds/1e3)
	}
}

// thousands formats a whole number with groups of digits.
func thousands(value float64) string {
	return message.NewPrinter(language.English).Sprint(int64(math.Round(value)))
}

// memoryTarget is the maximum memory of a batch, as a multiple of the memory of the messages in it.
const memoryTarget = 1.5

// batchPoint has the measurements for a number of messages that become one.
type batchPoint struct {
	profile  string
	messages int
	values   []float64
}

// batchPoints returns the points of one benchmark, by profile and number of messages.
func batchPoints(res *results, group, unit string) (points []batchPoint) {
	for name, m := range res.measured {
		messages, err := strconv.Atoi(part(name, "messages"))
		if err == nil && strings.HasPrefix(name, group+"/") && len(m[unit]) > 0 {
			points = append(points, batchPoint{part(name, "profile"), messages, m[unit]})
		}
	}
	slices.SortFunc(points, func(a, b batchPoint) int {
		return cmp.Or(cmp.Compare(a.profile, b.profile), cmp.Compare(a.messages, b.messages))
	})
	return points
}

// renderMergeScale writes the time for one message when many become one, if it was measured.
func renderMergeScale(out *strings.Builder, res *results) {
	points := batchPoints(res, "MergeScale", unitMessage)
	if len(points) == 0 {
		return
	}
	out.WriteString("\n## Many messages into one\n\nMessages of 4000 stacks that share half of their entries, held until the last one arrives. Above some hundred megabytes, lookups miss the CPU caches.\n\n| messages | time per message, median | fastest |\n|---:|---:|---:|\n")
	for _, p := range points {
		fmt.Fprintf(out, "| %d | %s | %s |\n", p.messages, duration(median(p.values)), duration(slices.Min(p.values)))
	}
}

// renderBatchMemory writes the peak memory of a batch, if it was measured.
func renderBatchMemory(out *strings.Builder, res *results) {
	points := batchPoints(res, "Batch", unitMemoryRatio)
	if len(points) == 0 {
		return
	}
	out.WriteString("\n## Memory while batching\n\nUploads that the processor holds and joins: the heap after the delivery, without garbage collection meanwhile, divided by the heap of the held messages.\n\n| profile | messages | memory ÷ held |\n|---|---:|---:|\n")
	for _, p := range points {
		fmt.Fprintf(out, "| %s | %d | %.2f%s |\n", p.profile, p.messages, median(p.values), mark(median(p.values) > memoryTarget))
	}
	fmt.Fprintf(out, "\nTarget: any ≤ %g.\n", memoryTarget)
}

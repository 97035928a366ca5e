// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// comparison is a ratio of two operations on the same profile, and its targets.
type comparison struct {
	group string
	// table is the group in whose table the ratio is a column, if it is not its own.
	table     string
	title     string
	ours      string
	reference string
	// value returns the compared value of a measurement.
	value func(measurement) float64
	// medianTarget is the maximum of the median over all profiles, anyTarget that of each profile. 0 means no target.
	medianTarget, anyTarget float64
	// strict means below the target instead of at most the target.
	strict bool
}

func nanoseconds(m measurement) float64 { return median(m[unitTime]) }
func allocations(m measurement) float64 { return median(m[unitAllocations]) }

var comparisons = []comparison{
	{group: "Decode", title: "time ÷ limit", ours: "otelpprof", reference: "limit", value: nanoseconds, medianTarget: 1.1, anyTarget: 1.25},
	{group: "Decode", title: "allocations ÷ limit", ours: "otelpprof", reference: "limit", value: allocations, anyTarget: 1, strict: true},
	{group: "Decode", title: "time ÷ ParseData", ours: "otelpprof", reference: "parsedata", value: nanoseconds, medianTarget: 0.55, anyTarget: 0.7},
	{group: "Encode", title: "time ÷ Write (both gzip)", ours: "otelpprof-gzip", reference: "google-gzip", value: nanoseconds, anyTarget: 0.45},
	{group: "Encode", title: "time ÷ WriteUncompressed", ours: "otelpprof", reference: "google", value: nanoseconds, anyTarget: 0.5},
	{group: "Deduplicate", title: "time ÷ unmarshal", ours: "otelpprof", reference: "unmarshal", value: nanoseconds, medianTarget: 0.6, anyTarget: 0.8},
	{group: "Doubled", table: "Deduplicate", title: "the same, everything twice", ours: "otelpprof", reference: "unmarshal", value: nanoseconds, medianTarget: 0.6, anyTarget: 0.8},
	{group: "Canonical", table: "Deduplicate", title: "the same, canonical", ours: "otelpprof", reference: "unmarshal", value: nanoseconds, anyTarget: 0.35},
	{group: "Window", title: "time ÷ Merge", ours: "otelpprof", reference: "google", value: nanoseconds, anyTarget: 1},
	{group: "Window", title: "time ÷ reading, Merge and writing", ours: "otelpprof", reference: "google-held", value: nanoseconds, anyTarget: 0.5},
	{group: "SplunkRecord", title: "time ÷ limit", ours: "otelpprof", reference: "limit", value: nanoseconds, anyTarget: 2},
	{group: "JFR", title: "time ÷ library", ours: "otelpprof", reference: "library", value: nanoseconds, anyTarget: 1.3},
	{group: "JFR", title: "time ÷ parser", ours: "otelpprof", reference: "parser", value: nanoseconds},
	{group: "Merge", title: "time ÷ MergeTo", ours: "otelpprof", reference: "mergeto", value: nanoseconds, anyTarget: 0.33},
}

const intro = `# Performance

Made by ` + "`%s`" + ` (` + "`test/tools/benchtable`" + `); do not edit. Medians of %d measurements each, all in one run: %s,
%s/%s, %s, GOMAXPROCS %s, so each benchmark pays for its own garbage collection. The profiles are in the folder that
` + "`OTELPPROF_CORPUS`" + ` names. A table has what otelpprof takes, and its ratios to the references. ✗ marks a ratio above its target.

`

func render(res *results, command, goVersion string) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, intro, command, res.count, res.header["cpu"], res.header["goos"], res.header["goarch"], goVersion, res.header["processors"])
	for _, section := range []struct{ group, title, text string }{
		{"Decode", "pprof to OTLP", "From the gzipped payload to pdata. `limit` is klauspost's gunzip and pdata's unmarshalling of the same OTLP message. `ParseData` is google/pprof's, which fills its own structs."},
		{"Encode", "OTLP to pprof", "Time, memory and allocations are with gzip. The references are google/pprof's, of the same profile in its own structs."},
		{"Deduplicate", "Deduplication", "Of a message of the translator, in place. `unmarshal` is pdata's, of the same message. The last columns are for a message with everything twice, and for a canonical one, which is only read."},
		{"Merge", "50 messages into one", "Messages of the Collector's benchmark of merging, at 0, 50 and 100 % of overlap. The reference is 49 calls of pdata's `MergeTo`, which combines no samples."},
		{"Window", "A window of 100 profiles into one", "The work of profile_view for a request, from the profiles in its store to the bytes of the merged profile. The first reference is google/pprof's `Merge` alone, of parsed profiles. The second one includes reading gzipped pprofs and writing. Neither compresses the result."},
		{"SplunkRecord", "Splunk's log records to OTLP profiles", "A log record with a pprof, from base64 on. `limit` is gunzip, and pdata's unmarshalling of the result. In `js-alloc` 1148 events become 15 samples, so the limit is small."},
		{"JFR", "JFR to OTLP", "From the plain recording. `library` is github.com/grafana/jfr-parser's `pprof.ParseJFR`, which drops the times of events, and `parser` its parser alone. Dense recordings have 100,000 events and few constants; those with names of hosts are of async-profiler."},
	} {
		if section.group != "Decode" && section.group != "Encode" && len(res.order[section.group]) == 0 {
			continue
		}
		fmt.Fprintf(&out, "## %s\n\n%s\n\n", section.title, section.text)
		if err := renderTable(&out, res, section.group); err != nil {
			return "", err
		}
	}
	if err := renderTexts(&out, res); err != nil {
		return "", err
	}
	renderFormats(&out, res)
	if err := renderScale(&out, res); err != nil {
		return "", err
	}
	renderMergeScale(&out, res)
	renderBatchMemory(&out, res)
	renderPages(&out, res)
	renderSymbols(&out, res)
	return strings.TrimRight(out.String(), "\n") + "\n", nil
}

func find(res *results, group, profile, operation string) (measurement, error) {
	name := fmt.Sprintf("%s/profile=%s/op=%s", group, profile, operation)
	m := res.measured[name]
	if m == nil || nanoseconds(m) == 0 {
		return nil, fmt.Errorf("cannot find a measurement of Benchmark%s", name)
	}
	return m, nil
}

// renderTable writes a row for each profile: what ours takes, and a column for each comparison. The last two rows have medians and targets.
func renderTable(out *strings.Builder, res *results, group string) error {
	var titles, middles, targets []string
	rows := make([]strings.Builder, len(res.order[group]))
	first := true
	for _, c := range comparisons {
		if cmp.Or(c.table, c.group) != group {
			continue
		}
		titles = append(titles, c.title)
		var ratios []float64
		for i, profile := range res.order[group] {
			ratio, err := c.ratio(res, profile)
			if err != nil {
				return err
			}
			if first {
				m, err := find(res, group, profile, c.ours)
				if err != nil {
					return err
				}
				fmt.Fprintf(&rows[i], "| %s | %s | %s | %s |", profile, duration(nanoseconds(m)), thousands(median(m[unitBytes])), thousands(allocations(m)))
			}
			ratios = append(ratios, ratio)
			fmt.Fprintf(&rows[i], " %.2f%s |", ratio, c.missed(ratio, c.anyTarget))
		}
		first = false
		middle := median(ratios)
		middles = append(middles, fmt.Sprintf("**%.2f**%s", middle, c.missed(middle, c.medianTarget)))
		targets = append(targets, c.target())
	}
	fmt.Fprintf(out, "| profile | time | memory, B | allocations | %s |\n", strings.Join(titles, " | "))
	fmt.Fprintf(out, "|---|---:|---:|---:|%s\n", strings.Repeat("---:|", len(titles)))
	for i := range rows {
		fmt.Fprintf(out, "%s\n", rows[i].String())
	}
	fmt.Fprintf(out, "| **median** | | | | %s |\n", strings.Join(middles, " | "))
	fmt.Fprintf(out, "| target | | | | %s |\n\n", strings.Join(targets, " | "))
	return nil
}

func (c comparison) ratio(res *results, profile string) (float64, error) {
	ours, err := find(res, c.group, profile, c.ours)
	if err != nil {
		return 0, err
	}
	reference, err := find(res, c.group, profile, c.reference)
	if err != nil {
		return 0, err
	}
	if c.value(reference) == 0 {
		return 0, fmt.Errorf("cannot compare %s of %s: the reference is 0", c.title, profile)
	}
	return c.value(ours) / c.value(reference), nil
}

// missed marks an unrounded ratio above its target.
func (c comparison) missed(ratio, target float64) string {
	return mark(target != 0 && (ratio > target || ratio == target && c.strict))
}

// mark marks what misses its target.
func mark(missed bool) string {
	if missed {
		return " ✗"
	}
	return ""
}

func (c comparison) target() string {
	sign := "≤ "
	if c.strict {
		sign = "< "
	}
	var parts []string
	if c.medianTarget != 0 {
		parts = append(parts, "median "+sign+strconv.FormatFloat(c.medianTarget, 'g', -1, 64))
	}
	if c.anyTarget != 0 {
		parts = append(parts, "any "+sign+strconv.FormatFloat(c.anyTarget, 'g', -1, 64))
	}
	return strings.Join(parts, ", ")
}

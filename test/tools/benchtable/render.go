// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// comparison is a ratio of two operations on the same profile, and its targets.
type comparison struct {
	group     string
	title     string
	ours      string
	reference string
	// value returns the compared value of a measurement.
	value func(*measurement) float64
	// medianTarget is the maximum of the median over all profiles, anyTarget that of each profile. 0 means no target.
	medianTarget, anyTarget float64
	// strict means below the target instead of at most the target.
	strict bool
}

func nanoseconds(m *measurement) float64 { return median(m.nanoseconds) }
func allocations(m *measurement) float64 { return median(m.allocations) }

var comparisons = []comparison{
	{group: "Decode", title: "time ÷ limit", ours: "otelpprof", reference: "limit", value: nanoseconds, medianTarget: 1.1, anyTarget: 1.25},
	{group: "Decode", title: "allocations ÷ limit", ours: "otelpprof", reference: "limit", value: allocations, anyTarget: 1, strict: true},
	{group: "Decode", title: "time ÷ ParseData", ours: "otelpprof", reference: "parsedata", value: nanoseconds, medianTarget: 0.55, anyTarget: 0.7},
	{group: "Decode", title: "limit ÷ ParseData", ours: "limit", reference: "parsedata", value: nanoseconds},
	{group: "Decode", title: "gunzip ÷ limit", ours: "gunzip", reference: "limit", value: nanoseconds},
	{group: "Encode", title: "time ÷ Write (both gzip)", ours: "otelpprof-gzip", reference: "google-gzip", value: nanoseconds, anyTarget: 0.45},
	{group: "Encode", title: "time ÷ WriteUncompressed", ours: "otelpprof", reference: "google", value: nanoseconds, anyTarget: 0.5},
	{group: "Deduplicate", title: "time ÷ unmarshal", ours: "otelpprof", reference: "unmarshal", value: nanoseconds, medianTarget: 0.6, anyTarget: 0.8},
	{group: "Doubled", title: "time ÷ unmarshal", ours: "otelpprof", reference: "unmarshal", value: nanoseconds, medianTarget: 0.6, anyTarget: 0.8},
	{group: "Canonical", title: "time ÷ unmarshal", ours: "otelpprof", reference: "unmarshal", value: nanoseconds, anyTarget: 0.35},
	{group: "Window", title: "time ÷ Merge", ours: "otelpprof", reference: "google", value: nanoseconds, anyTarget: 1},
	{group: "Window", title: "time ÷ reading, Merge and writing", ours: "otelpprof", reference: "google-held", value: nanoseconds, anyTarget: 0.5},
	{group: "SplunkRecord", title: "time ÷ limit", ours: "otelpprof", reference: "limit", value: nanoseconds, anyTarget: 2},
	{group: "JFR", title: "time ÷ library", ours: "otelpprof", reference: "library", value: nanoseconds, anyTarget: 1.3},
	{group: "JFR", title: "time ÷ parser", ours: "otelpprof", reference: "parser", value: nanoseconds},
	{group: "Merge", title: "time ÷ MergeTo", ours: "otelpprof", reference: "mergeto", value: nanoseconds, anyTarget: 0.33},
}

const intro = `# Performance

Made by ` + "`%s`" + ` (` + "`test/tools/benchtable`" + ` reads what the benchmarks print); do not edit.
Medians of %d measurements each, all in one run: %s, %s/%s, %s. GOMAXPROCS is %s, so each benchmark pays for its own garbage collection.
The profiles of the corpus are not in the repository: ` + "`OTELPPROF_CORPUS`" + ` names the folder they are read from.
` + "`make bench-paired BASE=<commit>`" + ` measures another commit and the current tree by turns, and prints what changed.

`

func render(res *results, command, goVersion string) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, intro, command, res.count, res.header["cpu"], res.header["goos"], res.header["goarch"], goVersion, res.header["processors"])
	for _, section := range []struct{ group, title, text string }{
		{"Decode", "pprof to OTLP", "`otelpprof` is `Decoder.Decode` of the gzipped payload. `limit` is klauspost's gunzip and pdata's unmarshalling of the OTLP message that comes out: nothing that fills pdata does much less. `parsedata` is google/pprof's `profile.ParseData` of the same payload, which ends at its own structs. `gunzip` is the part of the limit that is decompression. The last two columns tell how much room there is: no target stands for them."},
		{"Encode", "OTLP to pprof", "`otelpprof` is `Encoder.All`, `otelpprof-gzip` the same with `AppendGzip`. `google` is google/pprof's `WriteUncompressed` of the same profile, `google-gzip` its `Write`; both start with google/pprof's structs, not with OTLP."},
		{"Deduplicate", "Deduplication of the translator's messages", "`otelpprof` makes the message canonical in place: equal samples are combined. `unmarshal` is pdata's unmarshalling of the same message."},
		{"Doubled", "Deduplication of a message that has everything twice", "As above; half of all entries and samples are removed."},
		{"Canonical", "Deduplication of a canonical message", "As above; the message is only read."},
		{"Merge", "50 messages into one", "The shape of the Collector's own benchmark of merging, at 0, 50 and 100 % of overlap. `otelpprof` joins, deduplicates and combines samples; `mergeto` is 49 calls of pdata's `MergeTo`, which does not combine samples."},
		{"Window", "A window of 100 profiles into one", "The work of profile_view for a request. `otelpprof` starts with the profiles in its store and ends with the bytes of the merged profile. `google` is google/pprof's `profile.Merge` alone, of parsed profiles. `google-held` includes reading gzipped pprofs and writing. Neither compresses the result."},
		{"SplunkRecord", "Splunk's log records to OTLP profiles", "`otelpprof` is `Decoder.Decode` of a log record with a pprof, from base64 on. `limit` is decompressing the same pprof and unmarshalling the resulting OTLP message with pdata. If a thousand events become a dozen samples, as in `js-alloc`, the message is small, and so is the limit."},
		{"JFR", "JFR to OTLP", "`otelpprof` is `Decoder.Decode` of the recording without compression; it keeps the time of each event. `library` is github.com/grafana/jfr-parser's `pprof.ParseJFR` of the same recording, which adds events up and drops their times. `parser` is its parser alone, which drops the events. The recordings with names of hosts are of async-profiler, from the corpus. Those called dense have 100,000 events and few constants: the reading of each event and its time is most of the work."},
	} {
		if section.group != "Decode" && section.group != "Encode" && len(res.order[section.group]) == 0 {
			continue
		}
		fmt.Fprintf(&out, "## %s\n\n%s\n\n", section.title, section.text)
		if err := renderMeasurements(&out, res, section.group); err != nil {
			return "", err
		}
		if err := renderRatios(&out, res, section.group); err != nil {
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
	return strings.TrimRight(out.String(), "\n") + "\n", nil
}

// operations returns the operations of a group in the order of the comparisons.
func operations(group string) []string {
	var names []string
	for _, c := range comparisons {
		for _, name := range []string{c.ours, c.reference} {
			if c.group == group && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func find(res *results, group, profile, operation string) (*measurement, error) {
	name := fmt.Sprintf("%s/profile=%s/op=%s", group, profile, operation)
	m := res.measured[name]
	if m == nil || nanoseconds(m) == 0 {
		return nil, fmt.Errorf("cannot find a measurement of Benchmark%s", name)
	}
	return m, nil
}

func renderMeasurements(out *strings.Builder, res *results, group string) error {
	out.WriteString("| profile | operation | time | memory | allocations |\n|---|---|---:|---:|---:|\n")
	for _, profile := range res.order[group] {
		for _, operation := range operations(group) {
			m, err := find(res, group, profile, operation)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", profile, operation,
				duration(nanoseconds(m)), thousands(median(m.bytes))+" B", thousands(allocations(m)))
		}
	}
	out.WriteString("\n")
	return nil
}

// renderRatios writes a row for each profile and one with median and target, and a column for each comparison.
func renderRatios(out *strings.Builder, res *results, group string) error {
	var rows [4]strings.Builder // title, rule, median, target
	profiles := make([]strings.Builder, len(res.order[group]))
	for _, c := range comparisons {
		if c.group != group {
			continue
		}
		fmt.Fprintf(&rows[0], " %s |", c.title)
		rows[1].WriteString("---:|")
		var ratios []float64
		for i, profile := range res.order[group] {
			ratio, err := c.ratio(res, profile)
			if err != nil {
				return err
			}
			ratios = append(ratios, ratio)
			fmt.Fprintf(&profiles[i], " %.2f%s |", ratio, c.missed(ratio, c.anyTarget))
		}
		middle := median(ratios)
		fmt.Fprintf(&rows[2], " **%.2f**%s |", middle, c.missed(middle, c.medianTarget))
		fmt.Fprintf(&rows[3], " %s |", c.target())
	}
	fmt.Fprintf(out, "| profile |%s\n|---|%s\n", rows[0].String(), rows[1].String())
	for i, profile := range res.order[group] {
		fmt.Fprintf(out, "| %s |%s\n", profile, profiles[i].String())
	}
	fmt.Fprintf(out, "| **median** |%s\n| target |%s\n\n", rows[2].String(), rows[3].String())
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
	if target == 0 || ratio < target || ratio == target && !c.strict {
		return ""
	}
	return " ✗"
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

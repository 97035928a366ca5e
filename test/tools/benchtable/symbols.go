// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// renderSymbols writes what profile_symbolizer takes, and which figures there are not.
func renderSymbols(out *strings.Builder, res *results) {
	dwarfdump, build, lookup, message := res.measured["Index/op=llvm-dwarfdump"], res.measured["Index/op=build"], res.measured["Index/op=look-up"], res.measured["Message"]
	if build == nil && message == nil {
		return
	}
	out.WriteString("\n## Names for addresses\n\nThe file of C++ has about 100 MB, with DWARF 5. The message is a capture of the eBPF profiler, whose way is from OTLP through the deduplicator to pprof in gzip; the index is there.\n\n| figure of `profile_symbolizer` | | target |\n|---|---:|---:|\n")
	row := func(title, format string, value float64, target string, missed bool) {
		fmt.Fprintf(out, "| %s | "+format+"%s | %s |\n", title, value, mark(missed), target)
	}
	if build != nil && dwarfdump != nil && lookup != nil {
		ratio := nanoseconds(build) / nanoseconds(dwarfdump)
		row("index of the file: time ÷ `llvm-dwarfdump --statistics`", "%.2f", ratio, "≤ 3", ratio > 3)
		row("the largest memory of that process, MiB", "%.0f", median(build[unitProcess]), "≤ 256", median(build[unitProcess]) > 256)
		row("look-ups of random addresses of the file, million per second and core", "%.2f", 1e3/nanoseconds(lookup), "≥ 1", nanoseconds(lookup) > 1e3)
	}
	if message != nil {
		row("naming the message, % of the time of all else", "%.1f", median(message[unitPercent]), "≤ 10", median(message[unitPercent]) > 10)
	}
	if build == nil {
		out.WriteString("\nThe index was not measured: that needs g++, binutils and llvm.\n")
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// renderFormats writes how fast the formats beside pprof are read, where that was measured.
func renderFormats(out *strings.Builder, res *results) {
	header := "## Bytes and samples a second of other formats\n\nFrom plain bytes to pdata. The texts have 20,000 samples each.\n\n| payload | MB/s | samples/s | allocations |\n|---|---:|---:|---:|\n"
	for _, group := range []string{"JFR", "Format"} {
		for _, profile := range res.order[group] {
			m, err := find(res, group, profile, "otelpprof")
			if err != nil {
				continue
			}
			out.WriteString(header)
			header = ""
			name := profile
			if group == "JFR" {
				name = "JFR, " + profile
			}
			fmt.Fprintf(out, "| %s | %.0f | %s | %s |\n", name, median(m.megabytesPerSecond), thousands(median(m.samplesPerSecond)), thousands(allocations(m)))
		}
	}
	if header == "" {
		out.WriteByte('\n')
	}
}

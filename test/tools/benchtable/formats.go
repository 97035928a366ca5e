// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

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
		fmt.Fprintf(out, "| %s | %.0f | %s | %s |\n", profile, median(m.megabytesPerSecond), thousands(median(m.samplesPerSecond)), thousands(allocations(m)))
	}
	if header == "" {
		out.WriteByte('\n')
	}
}

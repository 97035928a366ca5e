// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

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
		speed, mark := median(parse.megabytesPerSecond), ""
		if speed < textsTarget {
			mark = " ✗"
		}
		fmt.Fprintf(out, "| %s | %.0f%s | %s | %.0f | %s |\n", profile, speed, mark, thousands(allocations(parse)),
			median(decode.megabytesPerSecond), thousands(allocations(decode)))
	}
	fmt.Fprintf(out, "\nTarget: parse any ≥ %d MB/s, without an allocation.\n\n", textsTarget)
	return nil
}

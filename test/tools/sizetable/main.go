// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command sizetable writes the part of docs/performance.md about sizes: OTLP messages before and after deduplication,
// plain, in gzip and in zstd, for the profiles in testdata and in the corpus that OTELPPROF_CORPUS names; and what the levels
// of compression cost. Without a corpus it writes nothing. Run it in the root of the repository.
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	corpus := os.Getenv("OTELPPROF_CORPUS")
	if corpus == "" {
		fmt.Fprintln(os.Stderr, "sizetable: OTELPPROF_CORPUS is not set, sizes are left out")
		return
	}
	var out strings.Builder
	err := levelTable(&out, "testdata")
	if err == nil {
		err = messageSizes(&out, corpus, "testdata")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sizetable:", err)
		os.Exit(1)
	}
	fmt.Print(out.String())
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command sizetable writes the part of docs/performance.md about sizes: what the levels of compression cost; and, for the profiles
// in testdata and in the corpus that OTELPPROF_CORPUS names, OTLP messages before and after deduplication, plain and in gzip.
// Without a corpus it writes only the levels. Run it in the root of the repository.
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	var out strings.Builder
	err := levelTable(&out, "testdata")
	if corpus := os.Getenv("OTELPPROF_CORPUS"); corpus == "" {
		fmt.Fprintln(os.Stderr, "sizetable: OTELPPROF_CORPUS is not set, sizes are left out")
	} else if err == nil {
		err = messageSizes(&out, corpus, "testdata")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sizetable:", err)
		os.Exit(1)
	}
	fmt.Print(out.String())
}

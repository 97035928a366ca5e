// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command sizetable writes the part of docs/performance.md that tells sizes: OTLP messages before and after
// deduplication, plain, in gzip and in zstd, on the real profiles of the corpus that OTELPPROF_CORPUS names and of the folder
// testdata; what the levels of compression cost; and the inputs of OTEP 0239 as pprof, as OTLP as received, and deduplicated. Without a corpus it writes nothing.
// It is run at the root of the repository.
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
	if err == nil {
		err = otepTables(&out, corpus)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sizetable:", err)
		os.Exit(1)
	}
	fmt.Print(out.String())
}

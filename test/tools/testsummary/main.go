// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command testsummary reads the output of `go test -json` from standard input and prints a summary: the line of each
// package, the output of failed tests, the number of skipped tests with their reasons, and the totals. It fails if a
// test, a package or a build failed, or if nothing ran.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	packages := flag.Int("packages", 0, "how many packages there are: the line of each then has its number")
	flag.Parse()
	s := newSummary(os.Stdout)
	s.packages = *packages
	if err := s.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
	s.close()
	if !s.good() {
		os.Exit(1)
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command testsummary reads the output of `go test -json` from standard input and prints what a person wants of it: the
// line of each package, the output of what failed, how many tests skipped and why, and one closing line. It fails when
// a test, a package or a build failed, or when nothing ran.
package main

import (
	"fmt"
	"os"
)

func main() {
	s := newSummary(os.Stdout)
	if err := s.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
	s.close()
	if !s.good() {
		os.Exit(1)
	}
}

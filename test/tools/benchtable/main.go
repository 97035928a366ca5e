// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command benchtable reads the output of the benchmarks from standard input and writes docs/performance.md to standard
// output: for each profile the medians of all measurements, and the ratios for which the project has targets. All values
// of a ratio come from one run on one machine.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
)

func main() {
	command := flag.String("command", "make bench", "the command of the measurements, which the document names")
	flag.Parse()
	if err := run(*command); err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		os.Exit(1)
	}
}

func run(command string) error {
	results, err := parse(os.Stdin)
	if err != nil {
		return err
	}
	report, err := render(results, command, runtime.Version())
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(report)
	return err
}

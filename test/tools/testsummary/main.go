// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command testsummary reads the output of `go test -json` from standard input and prints a summary: the line of each
// package, the output of failed tests, the number of skipped tests with their reasons, and the totals. It fails if a
// test, a package or a build failed, or if nothing ran.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
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

// event is one line of `go test -json`, see `go doc test2json`. A build that fails has its own events.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
}

// testName identifies a test or subtest. test is empty for the package itself.
type testName struct{ pkg, test string }

type summary struct {
	out io.Writer
	// packages is how many there are, or 0 if that is not known, and ended how many of them have ended.
	packages, ended int
	// output has the output of each running test.
	output map[testName][]string
	// built has the output of the compiler by package.
	built map[string][]string
	// failedIn counts the failed tests of a package. If a package fails without one, the cause is a panic or TestMain.
	failedIn map[string]int

	passed, failed, skipped int
	// skips counts the skipped tests of a package by reason. skipOrder has their order.
	skips     map[skip]int
	skipOrder []skip
}

// skip is the reason why tests of a package were skipped.
type skip struct{ pkg, reason string }

func newSummary(out io.Writer) *summary {
	return &summary{out: out, output: map[testName][]string{}, built: map[string][]string{}, failedIn: map[string]int{}, skips: map[skip]int{}}
}

func (s *summary) good() bool { return s.failed == 0 && s.passed > 0 }

// read reads events. Lines that are not events, such as messages of the go command, are printed.
func (s *summary) read(r io.Reader) error {
	reader := bufio.NewReader(r)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprint(s.out, string(line))
			} else {
				s.handle(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read the events of go test: %w", err)
		}
	}
}

func (s *summary) handle(e event) {
	name := testName{e.Package, e.Test}
	switch e.Action {
	case "output":
		s.output[name] = append(s.output[name], e.Output)
	case "build-output":
		s.built[e.ImportPath] = append(s.built[e.ImportPath], e.Output)
	case "build-fail":
		fmt.Fprint(s.out, strings.Join(s.built[e.ImportPath], ""))
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(e)
		} else {
			s.endTest(e)
		}
		delete(s.output, name)
	}
}

func (s *summary) endTest(e event) {
	output := strings.Join(s.output[testName{e.Package, e.Test}], "")
	switch e.Action {
	case "pass":
		s.passed++
	case "skip":
		s.skipped++
		why := skip{e.Package, reason(output)}
		if s.skips[why]++; s.skips[why] == 1 {
			s.skipOrder = append(s.skipOrder, why)
		}
	case "fail":
		s.failed++
		s.failedIn[e.Package]++
		fmt.Fprint(s.out, output)
	}
}

// endPackage prints the line of the package, and all of its output if no test caused the failure.
func (s *summary) endPackage(e event) {
	output := s.output[testName{e.Package, ""}]
	s.ended++
	if e.Action == "fail" {
		if s.failedIn[e.Package] == 0 {
			s.failed++
		}
		s.unfinished(e.Package)
		fmt.Fprint(s.out, strings.Join(output, ""))
		return
	}
	for _, line := range output {
		if strings.HasPrefix(line, "ok ") {
			if s.packages > 0 {
				fmt.Fprintf(s.out, "%3d of %d  ", s.ended, s.packages)
			}
			fmt.Fprint(s.out, line)
		}
	}
}

// unfinished prints the output of tests that did not end: the process died in one of them.
func (s *summary) unfinished(pkg string) {
	for name, output := range s.output {
		if name.pkg == pkg && name.test != "" {
			fmt.Fprint(s.out, strings.Join(output, ""))
		}
	}
}

// reason returns the output of a skipped test without the lines of the test runner.
func reason(output string) string {
	var words []string
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			words = append(words, line)
		}
	}
	return strings.Join(words, " ")
}

// close prints why tests were skipped, and the totals. Subtests count as tests, and so does a package that could not run.
func (s *summary) close() {
	for _, why := range s.skipOrder {
		fmt.Fprintf(s.out, "skipped %d of %s: %s\n", s.skips[why], why.pkg, why.reason)
	}
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
}

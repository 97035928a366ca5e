// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command benchtable reads the output of the benchmarks from standard input and writes docs/performance.md to standard
// output: for each profile the medians of all measurements, and the ratios for which the project has targets. All values
// of a ratio come from one run on one machine.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
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

// results has the output of one run of benchmarks.
type results struct {
	// header has goos, goarch and cpu, as the test binary printed them, and GOMAXPROCS.
	header map[string]string
	// order lists the profiles of each group of benchmarks in the order of the output.
	order map[string][]string
	// measured has the measurements of each benchmark by name, such as "Decode/profile=go-cpu/op=limit".
	measured map[string]measurement
	// count is the largest number of measurements of one benchmark.
	count int
}

// measurement has the values of one benchmark by unit, one of each run.
type measurement map[string][]float64

// The units, as benchmarks print them.
const (
	unitTime        = "ns/op"
	unitBytes       = "B/op"
	unitAllocations = "allocs/op"
	unitSpeed       = "MB/s"
	unitSamples     = "samples/s"
	unitMessage     = "ns/message"
	unitMemoryRatio = "memory-ratio"
	unitHeld        = "MiB-held"
	unitProcess     = "MiB-process"
	unitPercent     = "percent"
)

// processors matches the suffix for GOMAXPROCS in a benchmark's name. It is missing if GOMAXPROCS is 1.
var processors = regexp.MustCompile(`-\d+$`)

func parse(r io.Reader) (*results, error) {
	res := &results{header: map[string]string{}, order: map[string][]string{}, measured: map[string]measurement{}}
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if err := res.line(scanner.Text()); err != nil {
			return nil, err
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("cannot read benchmarks: %w", err)
	}
	if len(res.measured) == 0 {
		return nil, errors.New("cannot find a benchmark in the input")
	}
	return res, nil
}

func (res *results) line(text string) error {
	if key, value, found := strings.Cut(text, ": "); found && slices.Contains([]string{"goos", "goarch", "cpu"}, key) {
		res.header[key] = strings.TrimSpace(value)
		return nil
	}
	if strings.HasPrefix(text, "--- FAIL") || strings.HasPrefix(text, "FAIL") {
		return fmt.Errorf("cannot make a table of a run that failed: %q", text)
	}
	fields := strings.Fields(text)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return nil
	}
	name := strings.TrimPrefix(fields[0], "Benchmark")
	suffix := processors.FindString(name)
	res.header["processors"] = cmp.Or(strings.TrimPrefix(suffix, "-"), "1")
	return res.add(strings.TrimSuffix(name, suffix), fields[2:])
}

// add adds the values of one line: pairs of number and unit.
func (res *results) add(name string, pairs []string) error {
	m := res.measured[name]
	if m == nil {
		m = measurement{}
		res.measured[name] = m
		group, _, _ := strings.Cut(name, "/")
		if profile := part(name, "profile"); profile != "" && !slices.Contains(res.order[group], profile) {
			res.order[group] = append(res.order[group], profile)
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		value, err := strconv.ParseFloat(pairs[i], 64)
		if err != nil {
			return fmt.Errorf("cannot read a value of %s: %w", name, err)
		}
		m[pairs[i+1]] = append(m[pairs[i+1]], value)
	}
	res.count = max(res.count, len(m[unitTime]))
	return nil
}

// part returns the value of key in a name of the form Group/key=value/key=value.
func part(name, key string) string {
	for element := range strings.SplitSeq(name, "/") {
		if value, found := strings.CutPrefix(element, key+"="); found {
			return value
		}
	}
	return ""
}

// median returns the median of values, or 0 if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

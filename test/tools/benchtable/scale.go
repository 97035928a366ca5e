// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/otelpprof/otelpprof/test/tools/digits"
)

// scaleTarget is the maximum ratio of the costs per byte at different sizes.
const scaleTarget = 1.3

// renderScale writes the cost per byte of one profile at several sizes.
func renderScale(out *strings.Builder, res *results) error {
	type point struct {
		factor int
		cost   float64 // nanoseconds per byte
	}
	var points []point
	for name, m := range res.measured {
		text := part(name, "factor")
		if !strings.HasPrefix(name, "DecodeScale/") || text == "" {
			continue
		}
		factor, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("cannot read the factor of %s: %w", name, err)
		}
		if median(m.megabytesPerSecond) == 0 {
			return fmt.Errorf("cannot tell the cost per byte of %s: the benchmark sets no bytes", name)
		}
		points = append(points, point{factor, 1000 / median(m.megabytesPerSecond)})
	}
	if len(points) < 2 {
		return errors.New("cannot find two sizes of BenchmarkDecodeScale")
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.factor, b.factor) })
	out.WriteString("## Cost against size\n\nOne profile at several times its size, pprof to OTLP.\n\n| size | ns per byte |\n|---:|---:|\n")
	low, high := math.Inf(1), 0.0
	for _, p := range points {
		low, high = min(low, p.cost), max(high, p.cost)
		fmt.Fprintf(out, "| %d× | %.2f |\n", p.factor, p.cost)
	}
	mark := ""
	if high/low > scaleTarget {
		mark = " ✗"
	}
	fmt.Fprintf(out, "\nDearest ÷ cheapest: **%.2f**%s (target ≤ %g).\n", high/low, mark, scaleTarget)
	return nil
}

// duration formats a duration with a suitable unit.
func duration(nanoseconds float64) string {
	switch {
	case nanoseconds >= 1e9:
		return fmt.Sprintf("%.2f s", nanoseconds/1e9)
	case nanoseconds >= 1e6:
		return fmt.Sprintf("%.2f ms", nanoseconds/1e6)
	default:
		return fmt.Sprintf("%.1f µs", nanoseconds/1e3)
	}
}

// thousands formats a whole number with groups of digits.
func thousands(value float64) string { return digits.Group(int64(math.Round(value))) }

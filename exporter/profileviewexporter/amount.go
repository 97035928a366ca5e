// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"fmt"
	"math"
	"strconv"
)

// scale is a unit and its size in the smallest unit.
type scale struct {
	factor float64
	name   string
}

// The units for amounts. An amount uses the largest unit that is not larger than the value.
var (
	timeScales = []scale{{3600e9, "h"}, {60e9, "min"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}
	byteScales = []scale{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}}
	// unitScales are the units in which profiles have values. factor is the size of a unit in the smallest unit of scales.
	unitScales = map[string]struct {
		factor float64
		scales []scale
	}{
		"nanoseconds": {1, timeScales}, "microseconds": {1e3, timeScales}, "milliseconds": {1e6, timeScales}, "seconds": {1e9, timeScales},
		"bytes": {1, byteScales}, "kilobytes": {1 << 10, byteScales}, "megabytes": {1 << 20, byteScales},
	}
)

// amount returns a value and its unit as a text for the user.
func amount(value int64, unit string) string {
	known, found := unitScales[unit]
	if !found {
		if unit == "" || unit == "count" {
			return strconv.FormatInt(value, 10)
		}
		return fmt.Sprintf("%d %.40s", value, unit)
	}
	size := float64(value) * known.factor
	for _, s := range known.scales {
		if math.Abs(size) >= s.factor {
			return strconv.FormatFloat(size/s.factor, 'f', decimals(size/s.factor, s.factor), 64) + " " + s.name
		}
	}
	return "0 " + known.scales[len(known.scales)-1].name
}

// decimals returns the number of decimals for three digits. A base unit has none.
func decimals(number, factor float64) int {
	switch size := math.Abs(number); {
	case factor == 1 || size >= 100:
		return 0
	case size >= 10:
		return 1
	}
	return 2
}

// signed returns an amount with its sign, including a plus.
func signed(value int64, unit string) string {
	if value > 0 {
		return "+" + amount(value, unit)
	}
	return amount(value, unit)
}

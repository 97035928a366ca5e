// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"fmt"
	"strconv"
	"strings"
)

// Counts describes the values of a profile whose format has no sample type: stacks with counts.
type Counts struct {
	// App is the name of the application without the suffix for the type.
	App string
	// Type and Unit are those of the sample type.
	Type, Unit string
	// ProfileName is the name of the profile, if its type is not enough to identify it.
	ProfileName string
	// Period is the value of one count, or 0 if the values already are in Unit.
	Period int64
}

const (
	unitCount       = "count"
	unitBytes       = "bytes"
	unitNanoseconds = "nanoseconds"

	// unitsSamples is the default of the parameter units: each count is one sample.
	unitsSamples = "samples"
	// aggregationAverage is the value of aggregationType for states, such as memory in use.
	aggregationAverage = "average"

	defaultSampleRate = 100
	second            = 1_000_000_000
)

// bySuffix maps the last part of an application's name, as in app.alloc_objects, to its type. The types are those of Go's
// pprofs; Pyroscope merges them.
var bySuffix = map[string]Counts{
	"cpu":            {Type: "cpu", Unit: unitNanoseconds},
	"itimer":         {Type: "cpu", Unit: unitNanoseconds, ProfileName: "itimer"},
	"wall":           {Type: "wall", Unit: unitNanoseconds},
	"alloc_objects":  {Type: "alloc_objects", Unit: unitCount},
	"alloc_space":    {Type: "alloc_space", Unit: unitBytes},
	"inuse_objects":  {Type: "inuse_objects", Unit: unitCount},
	"inuse_space":    {Type: "inuse_space", Unit: unitBytes},
	"goroutines":     {Type: "goroutine", Unit: unitCount},
	"exceptions":     {Type: "exceptions", Unit: unitCount},
	"mutex_count":    {Type: "contentions", Unit: unitCount, ProfileName: "mutex"},
	"mutex_duration": {Type: "delay", Unit: unitNanoseconds, ProfileName: "mutex"},
	"block_count":    {Type: "contentions", Unit: unitCount, ProfileName: "block"},
	"block_duration": {Type: "delay", Unit: unitNanoseconds, ProfileName: "block"},
	"lock_count":     {Type: "contentions", Unit: unitCount},
	"lock_duration":  {Type: "delay", Unit: unitNanoseconds},
}

// byUnits maps the parameter units to types, for names without a type. The second type is for averages.
var byUnits = map[string][2]Counts{
	unitsSamples:       {{Type: "cpu", Unit: unitNanoseconds}, {Type: "cpu", Unit: unitNanoseconds}},
	"objects":          {{Type: "alloc_objects", Unit: unitCount}, {Type: "inuse_objects", Unit: unitCount}},
	unitBytes:          {{Type: "alloc_space", Unit: unitBytes}, {Type: "inuse_space", Unit: unitBytes}},
	"goroutines":       {{Type: "goroutine", Unit: unitCount}, {Type: "goroutine", Unit: unitCount}},
	"exceptions":       {{Type: "exceptions", Unit: unitCount}, {Type: "exceptions", Unit: unitCount}},
	"lock_samples":     {{Type: "contentions", Unit: unitCount}, {Type: "contentions", Unit: unitCount}},
	"lock_nanoseconds": {{Type: "delay", Unit: unitNanoseconds}, {Type: "delay", Unit: unitNanoseconds}},
}

// ParseCounts returns the type of counts from the application's name and the parameters units, sampleRate and
// aggregationType. The last part of the name takes precedence over units.
func ParseCounts(app, units, sampleRate, aggregation string) (Counts, error) {
	if units == "" {
		units = unitsSamples
	}
	counts, named := Counts{}, false
	if dot := strings.LastIndexByte(app, '.'); dot > 0 {
		if counts, named = bySuffix[app[dot+1:]]; named {
			counts.App = app[:dot]
		}
	}
	if !named {
		both, known := byUnits[units]
		if !known {
			return Counts{}, fmt.Errorf("units %.64q is not known", units)
		}
		counts = both[0]
		if aggregation == aggregationAverage {
			counts = both[1]
		}
		counts.App = app
	}
	if units != unitsSamples || counts.Type != "cpu" && counts.Type != "wall" {
		return counts, nil
	}
	rate, err := parseRate(sampleRate)
	counts.Period = second / rate
	return counts, err
}

// parseRate parses samples per second. An empty rate, and 0, which some clients send, mean the default.
func parseRate(text string) (int64, error) {
	if text == "" {
		return defaultSampleRate, nil
	}
	rate, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil, rate < 0, rate > second:
		return defaultSampleRate, fmt.Errorf("sampleRate %.64q is not a whole number of samples per second, up to %d", text, second)
	case rate == 0:
		return defaultSampleRate, nil
	default:
		return rate, nil
	}
}

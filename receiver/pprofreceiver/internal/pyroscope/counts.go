// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"fmt"
	"strconv"
	"strings"
)

// Counts says what the values of a profile are whose format does not say so: stacks with a count.
type Counts struct {
	// App is the name of the application without the part that names the type.
	App string
	// Type and Unit are those of the sample type.
	Type, Unit string
	// ProfileName is the name of the profile where its type alone does not tell it from others.
	ProfileName string
	// Period is what one count is worth, 0 if the values are in Unit already.
	Period int64
}

const (
	unitCount       = "count"
	unitBytes       = "bytes"
	unitNanoseconds = "nanoseconds"

	// unitsSamples is the default of the parameter units: each count is one sample.
	unitsSamples = "samples"
	// aggregationAverage is the value of aggregationType for what is there at a time, such as memory in use.
	aggregationAverage = "average"

	defaultSampleRate = 100
	second            = 1_000_000_000
)

// bySuffix are the types that the last part of an application's name can name, as in app.alloc_objects. They are named as in the
// pprofs of Go, with which Pyroscope puts them together.
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

// byUnits are the types where the name names none, by the parameter units. The second is that of an average.
var byUnits = map[string][2]Counts{
	unitsSamples:       {{Type: "cpu", Unit: unitNanoseconds}, {Type: "cpu", Unit: unitNanoseconds}},
	"objects":          {{Type: "alloc_objects", Unit: unitCount}, {Type: "inuse_objects", Unit: unitCount}},
	unitBytes:          {{Type: "alloc_space", Unit: unitBytes}, {Type: "inuse_space", Unit: unitBytes}},
	"goroutines":       {{Type: "goroutine", Unit: unitCount}, {Type: "goroutine", Unit: unitCount}},
	"exceptions":       {{Type: "exceptions", Unit: unitCount}, {Type: "exceptions", Unit: unitCount}},
	"lock_samples":     {{Type: "contentions", Unit: unitCount}, {Type: "contentions", Unit: unitCount}},
	"lock_nanoseconds": {{Type: "delay", Unit: unitNanoseconds}, {Type: "delay", Unit: unitNanoseconds}},
}

// ParseCounts reads what the name of the application and the parameters units, sampleRate and aggregationType say about counts.
// The last part of the name decides, then units.
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

// parseRate reads samples per second. Without a rate, and for 0, which some clients send, it is the default.
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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
)

// ingestFormat returns the format of a request. The parameter format or the Content-Type names it. Without a name it is
// pprof, unless the body looks like collapsed stacks, which are Pyroscope's default.
func (s *server) ingestFormat(source *pprof.Source, app string, query url.Values, contentType string, body []byte) (payloadFormat, error) {
	name := query.Get("format")
	if name == "" {
		// Pyroscope's clients used this before the parameter existed.
		_, name, _ = strings.Cut(contentType, "binary/octet-stream+")
	}
	isForm := strings.Contains(strings.ToLower(contentType), typeForm)
	switch {
	case name == formatJFR:
		return s.recordingFormat(nil, query), nil
	case name == formatPprof, name == "" && (isForm || !collapsed.IsText(body)):
		return s.pprof, nil
	case name == "":
		name = formatFolded
	}
	named, err := findFormat(name)
	if err != nil {
		return nil, err
	}
	if isForm {
		return nil, newRefusal(unknownFormat, "format %.32q is not supported in a form, only %q is", name, formatPprof)
	}
	period := int64(0)
	if named.takesType {
		if period, err = setFromCounts(source, app, query); err != nil {
			return nil, err
		}
	}
	return s.intake.formats.text(named, period), nil
}

// recordingFormat returns the format of a recording with these labels. The query has the sample rate for recordings without one.
func (s *server) recordingFormat(labels []byte, query url.Values) payloadFormat {
	period, _ := samplePeriod(query.Get("sampleRate")) // A rate that cannot be read is as a missing one.
	return s.intake.formats.jfr(labels, period)
}

// setFromCounts sets the type of values from the query, for formats without a type. If the name of the application ends
// with a type, the service is the part before it. period is the value of one count.
func setFromCounts(source *pprof.Source, app string, query url.Values) (period int64, err error) {
	counts, err := parseCounts(app, query.Get("units"), query.Get("sampleRate"), query.Get("aggregationType"))
	if err != nil {
		return 0, err
	}
	if service, _ := source.Resource.Get(attributeServiceName); service.Str() == app {
		source.Resource.PutStr(attributeServiceName, validText(counts.app))
	}
	if source.ProfileName == "" {
		source.ProfileName = counts.profileName
	}
	source.SampleTypes = []pprof.ValueType{{Type: counts.valueType, Unit: counts.unit}}
	return counts.period, nil
}

// valueCounts describes the values of a profile whose format has no sample type: stacks with counts.
type valueCounts struct {
	// app is the name of the application without the suffix for the type.
	app string
	// valueType and unit are those of the sample type.
	valueType, unit string
	// profileName is the name of the profile, if its type is not enough to identify it.
	profileName string
	// period is the value of one count, or 0 if the values already are in unit.
	period int64
}

const (
	unitCount       = "count"
	unitBytes       = "bytes"
	unitNanoseconds = "nanoseconds"

	// unitsSamples is the default of the parameter units: each count is one sample.
	unitsSamples = "samples"
	// aggregationAverage is the value of aggregationType for states, such as memory in use.
	aggregationAverage = "average"

	// defaultSampleRate is Pyroscope's default, in samples per second.
	defaultSampleRate = 100
)

// bySuffix maps the last part of an application's name, as in app.alloc_objects, to its type. The types are those of Go's
// pprofs; Pyroscope merges them.
var bySuffix = map[string]valueCounts{
	"cpu":            {valueType: "cpu", unit: unitNanoseconds},
	"itimer":         {valueType: "cpu", unit: unitNanoseconds, profileName: "itimer"},
	"wall":           {valueType: "wall", unit: unitNanoseconds},
	"alloc_objects":  {valueType: "alloc_objects", unit: unitCount},
	"alloc_space":    {valueType: "alloc_space", unit: unitBytes},
	"inuse_objects":  {valueType: "inuse_objects", unit: unitCount},
	"inuse_space":    {valueType: "inuse_space", unit: unitBytes},
	"goroutines":     {valueType: "goroutine", unit: unitCount},
	"exceptions":     {valueType: "exceptions", unit: unitCount},
	"mutex_count":    {valueType: "contentions", unit: unitCount, profileName: "mutex"},
	"mutex_duration": {valueType: "delay", unit: unitNanoseconds, profileName: "mutex"},
	"block_count":    {valueType: "contentions", unit: unitCount, profileName: "block"},
	"block_duration": {valueType: "delay", unit: unitNanoseconds, profileName: "block"},
	"lock_count":     {valueType: "contentions", unit: unitCount},
	"lock_duration":  {valueType: "delay", unit: unitNanoseconds},
}

// byUnits maps the parameter units to types, for names without a type. The second type is for averages.
var byUnits = map[string][2]valueCounts{
	unitsSamples:       {{valueType: "cpu", unit: unitNanoseconds}, {valueType: "cpu", unit: unitNanoseconds}},
	"objects":          {{valueType: "alloc_objects", unit: unitCount}, {valueType: "inuse_objects", unit: unitCount}},
	unitBytes:          {{valueType: "alloc_space", unit: unitBytes}, {valueType: "inuse_space", unit: unitBytes}},
	"goroutines":       {{valueType: "goroutine", unit: unitCount}, {valueType: "goroutine", unit: unitCount}},
	"exceptions":       {{valueType: "exceptions", unit: unitCount}, {valueType: "exceptions", unit: unitCount}},
	"lock_samples":     {{valueType: "contentions", unit: unitCount}, {valueType: "contentions", unit: unitCount}},
	"lock_nanoseconds": {{valueType: "delay", unit: unitNanoseconds}, {valueType: "delay", unit: unitNanoseconds}},
}

// parseCounts returns the type of counts from the application's name and the parameters units, sampleRate and
// aggregationType. The last part of the name takes precedence over units.
func parseCounts(app, units, sampleRate, aggregation string) (valueCounts, error) {
	if units == "" {
		units = unitsSamples
	}
	counts, named := valueCounts{}, false
	if dot := strings.LastIndexByte(app, '.'); dot > 0 {
		if counts, named = bySuffix[app[dot+1:]]; named {
			counts.app = app[:dot]
		}
	}
	if !named {
		both, known := byUnits[units]
		if !known {
			return valueCounts{}, newRefusal(badQuery, "units %.64q is not known", units)
		}
		counts = both[0]
		if aggregation == aggregationAverage {
			counts = both[1]
		}
		counts.app = app
	}
	if units != unitsSamples || counts.valueType != "cpu" && counts.valueType != "wall" {
		return counts, nil
	}
	period, err := samplePeriod(sampleRate)
	counts.period = period.Nanoseconds()
	return counts, err
}

// samplePeriod returns the time between two samples, from the number of samples per second. An empty rate, and 0, which some clients send, mean
// the default. An error comes with the default.
func samplePeriod(text string) (period time.Duration, err error) {
	period = time.Second / defaultSampleRate
	if text == "" {
		return period, nil
	}
	switch rate, err := strconv.ParseInt(text, 10, 64); {
	case err != nil, rate < 0, rate > int64(time.Second):
		return period, newRefusal(badQuery, "sampleRate %.64q is not a whole number of samples per second, up to %d", text, time.Second.Nanoseconds())
	case rate > 0:
		period = time.Second / time.Duration(rate)
	}
	return period, nil
}

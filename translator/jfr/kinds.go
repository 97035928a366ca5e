// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

// kind is a kind of profile: one kind of event with its values.
type kind int

const (
	kindCPU kind = iota
	kindWall
	kindInNewTLAB
	kindOutsideTLAB
	kindAllocationSample
	kindLive
	kindMalloc
	kindLock
	kindPark
	numKinds
)

// valueType is the name and the unit of a value.
type valueType struct{ name, unit string }

// kindInfo has the names and types of the profiles of a kind. The names are those of Pyroscope.
type kindInfo struct {
	// profile is the name of the profile.
	profile string
	// value is the type of the value of an event. The profile of this type is before that of count.
	value valueType
	// count is the type of the number of events. It is empty for kinds without a second profile for that number.
	count valueType
	// period is the type of the period, or empty.
	period valueType
}

const (
	nanoseconds = "nanoseconds"
	bytesUnit   = "bytes"
	count       = "count"
)

var (
	noType    = valueType{}
	cpuTime   = valueType{"cpu", nanoseconds}
	wallTime  = valueType{"wall", nanoseconds}
	space     = valueType{"space", bytesUnit}
	delay     = valueType{"delay", nanoseconds}
	contended = valueType{"contentions", count}
	// samplesType is the sample type of execution samples if their period is not known.
	samplesType = valueType{"samples", count}
)

var kinds = [numKinds]kindInfo{
	kindCPU:              {"process_cpu", cpuTime, noType, cpuTime},
	kindWall:             {"wall", wallTime, noType, wallTime},
	kindInNewTLAB:        {"memory", valueType{"alloc_in_new_tlab_bytes", bytesUnit}, valueType{"alloc_in_new_tlab_objects", count}, space},
	kindOutsideTLAB:      {"memory", valueType{"alloc_outside_tlab_bytes", bytesUnit}, valueType{"alloc_outside_tlab_objects", count}, space},
	kindAllocationSample: {"memory", valueType{"alloc_sample_bytes", bytesUnit}, valueType{"alloc_sample_objects", count}, space},
	kindLive:             {"memory", valueType{"live", count}, noType, valueType{"objects", count}},
	kindMalloc:           {"memory", valueType{"malloc_bytes", bytesUnit}, valueType{"malloc_objects", count}, noType},
	kindLock:             {"mutex", delay, contended, valueType{"mutex", count}},
	kindPark:             {"block", delay, contended, valueType{"block", count}},
}

// columns returns the number of profiles of a kind: 2 with a count, or else 1.
func (k kind) columns() int {
	if kinds[k].count == noType {
		return 1
	}
	return 2
}

// role is what the decoder does with the events of a type.
type role int

const (
	skipped role = iota
	setting
	// attached is the role of events after which a thread works on a span, or on none.
	attached
	// scoped is the role of events during which a thread works on a span.
	scoped
	executionSample
	cpuTimeSample
	wallClockSample
	nativeMethodSample
	// datadogCPUSample and datadogWallSample are the roles of samples of Datadog's native profiler.
	datadogCPUSample
	datadogWallSample
	// value is the role of events with one kind, and one field with their value.
	value
	numRoles
)

// eventType is what the decoder does with a type of events.
type eventType struct {
	role role
	kind kind
	// value is the field with the value. Without it each event counts 1.
	value knownField
}

// eventTypes has the types of events that the decoder reads. Events of all other types are skipped, and counted by name.
var eventTypes = map[string]eventType{
	"jdk.ActiveSetting":               {role: setting},
	"otel.ContextAttached":            {role: attached},
	"io.opentelemetry.context.Scope":  {role: scoped},
	"datadog.Scope":                   {role: scoped},
	"jdk.ExecutionSample":             {role: executionSample},
	"jdk.CPUTimeSample":               {role: cpuTimeSample},
	"profiler.WallClockSample":        {role: wallClockSample},
	"jdk.NativeMethodSample":          {role: nativeMethodSample},
	"datadog.ExecutionSample":         {role: datadogCPUSample},
	"datadog.MethodSample":            {role: datadogWallSample},
	"jdk.ObjectAllocationInNewTLAB":   {value, kindInNewTLAB, fieldTLABSize},
	"jdk.ObjectAllocationOutsideTLAB": {value, kindOutsideTLAB, fieldAllocationSize},
	"jdk.ObjectAllocationSample":      {value, kindAllocationSample, fieldWeight},
	"profiler.LiveObject":             {value, kindLive, 0},
	"profiler.Malloc":                 {value, kindMalloc, fieldSize},
	"jdk.JavaMonitorEnter":            {value, kindLock, fieldDuration},
	"jdk.ThreadPark":                  {value, kindPark, fieldDuration},
}

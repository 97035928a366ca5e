// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"slices"

	"github.com/otelpprof/otelpprof/translator/jfr/internal/reader"
)

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

// eventType is a type of events.
type eventType struct {
	name string
	role role
	kind kind
	// value is the field with the value. Without it each event counts 1.
	value reader.Field
}

// eventTypes has the types of events that the decoder reads. The Kind of their classes is the index here plus one. Events of all other
// types are skipped, and counted by name.
var eventTypes = []eventType{
	{name: "jdk.ActiveSetting", role: setting},
	{name: "otel.ContextAttached", role: attached},
	{name: "io.opentelemetry.context.Scope", role: scoped},
	{name: "datadog.Scope", role: scoped},
	{name: "jdk.ExecutionSample", role: executionSample},
	{name: "jdk.CPUTimeSample", role: cpuTimeSample},
	{name: "profiler.WallClockSample", role: wallClockSample},
	{name: "jdk.NativeMethodSample", role: nativeMethodSample},
	{name: "datadog.ExecutionSample", role: datadogCPUSample},
	{name: "datadog.MethodSample", role: datadogWallSample},
	{"jdk.ObjectAllocationInNewTLAB", value, kindInNewTLAB, reader.TLABSize},
	{"jdk.ObjectAllocationOutsideTLAB", value, kindOutsideTLAB, reader.AllocationSize},
	{"jdk.ObjectAllocationSample", value, kindAllocationSample, reader.Weight},
	{"profiler.LiveObject", value, kindLive, 0},
	{"profiler.Malloc", value, kindMalloc, reader.Size},
	{"jdk.JavaMonitorEnter", value, kindLock, reader.Duration},
	{"jdk.ThreadPark", value, kindPark, reader.Duration},
}

// classKind returns the Kind of a class with this name.
func classKind(name string) int {
	return 1 + slices.IndexFunc(eventTypes, func(e eventType) bool { return e.name == name })
}

// eventOf returns the type of the events of a class.
func eventOf(class *reader.Class) *eventType {
	if class == nil || class.Kind == 0 {
		return &eventType{}
	}
	return &eventTypes[class.Kind-1]
}

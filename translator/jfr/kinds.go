// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import "github.com/otelpprof/otelpprof/translator/jfr/internal/reader"

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

// eventType is a type of event that the decoder reads. It is the Kind of the classes of the reader.
type eventType int

const (
	skippedEvent eventType = iota
	activeSetting
	// contextAttached is an event after which a thread works on a span, or on none.
	contextAttached
	// scopeEvent is an event during which a thread works on a span.
	scopeEvent
	executionSample
	cpuTimeSample
	wallClockSample
	nativeMethodSample
	inNewTLAB
	outsideTLAB
	allocationSample
	liveObject
	malloc
	monitorEnter
	threadPark
	numEventTypes
)

// eventTypes has the types of events by their name. The types of all other events are skipped, and counted by name.
var eventTypes = map[string]eventType{
	"jdk.ActiveSetting": activeSetting, "otel.ContextAttached": contextAttached, "io.opentelemetry.context.Scope": scopeEvent,
	"datadog.Scope": scopeEvent, "jdk.ExecutionSample": executionSample, "jdk.CPUTimeSample": cpuTimeSample,
	"profiler.WallClockSample": wallClockSample, "jdk.NativeMethodSample": nativeMethodSample,
	"jdk.ObjectAllocationInNewTLAB": inNewTLAB, "jdk.ObjectAllocationOutsideTLAB": outsideTLAB,
	"jdk.ObjectAllocationSample": allocationSample, "profiler.LiveObject": liveObject, "profiler.Malloc": malloc,
	"jdk.JavaMonitorEnter": monitorEnter, "jdk.ThreadPark": threadPark,
}

// plainEvents has the event types that have one kind, and the field with their value. Without a field, each event counts 1.
var plainEvents = [numEventTypes]struct {
	kind  kind
	value reader.Field
}{
	inNewTLAB:        {kindInNewTLAB, reader.TLABSize},
	outsideTLAB:      {kindOutsideTLAB, reader.AllocationSize},
	allocationSample: {kindAllocationSample, reader.Weight},
	liveObject:       {kind: kindLive},
	malloc:           {kindMalloc, reader.Size},
	monitorEnter:     {kindLock, reader.Duration},
	threadPark:       {kindPark, reader.Duration},
}

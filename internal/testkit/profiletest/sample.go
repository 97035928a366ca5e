// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// shape is which of its lists a sample fills.
type shape uint8

const (
	hasValues shape = 1 << iota
	hasTimestamps
)

func (s shape) String() string {
	switch s {
	case hasValues:
		return "values"
	case hasTimestamps:
		return "timestamps"
	case hasValues | hasTimestamps:
		return "values with timestamps"
	}
	return "nothing"
}

func shapeOf(s pprofile.Sample) shape {
	var found shape
	if s.Values().Len() > 0 {
		found |= hasValues
	}
	if s.TimestampsUnixNano().Len() > 0 {
		found |= hasTimestamps
	}
	return found
}

// sampleIdentity is the content that tells samples of one profile apart: stack, attributes and link, and, where asked
// for, the shape.
func sampleIdentity(t *tables, s pprofile.Sample, withShape bool) string {
	identity := appendNumbers(nil, ref(t.stacks, s.StackIndex()), ref(t.links, s.LinkIndex()))
	if withShape {
		identity = append(identity, byte(shapeOf(s)))
	}
	return string(appendNumbers(identity, attributeSet(t, s.AttributeIndices())...))
}

func resourceIdentity(rp pprofile.ResourceProfiles) string {
	identity := appendString(nil, rp.SchemaUrl())
	return string(appendMap(identity, rp.Resource().Attributes(), 0))
}

func scopeIdentity(sp pprofile.ScopeProfiles) string {
	identity := appendString(nil, sp.SchemaUrl())
	identity = appendString(identity, sp.Scope().Name())
	identity = appendString(identity, sp.Scope().Version())
	return string(appendMap(identity, sp.Scope().Attributes(), 0))
}

// SampleType is a type that a translator or a client writes.
type SampleType struct {
	Name, Unit string
	// Gauge: the values are a state at a point in time.
	Gauge bool
}

// SampleTypes returns the types that translators and known clients write.
func SampleTypes() []SampleType {
	const count, bytes, nanoseconds = "count", "bytes", "nanoseconds"
	return []SampleType{
		// Go, and the clients of Pyroscope
		{"samples", count, false},
		{"cpu", nanoseconds, false},
		{"wall", nanoseconds, false},
		{"alloc_objects", count, false},
		{"alloc_space", bytes, false},
		{"inuse_objects", count, true},
		{"inuse_space", bytes, true},
		{"contentions", count, false},
		{"delay", nanoseconds, false},
		{"goroutine", count, true},
		{"goroutines", count, true},
		{"threadcreate", count, true},
		{"exceptions", count, false},
		// Datadog's library for .NET
		{"inuse-objects", count, true},
		{"inuse-space", bytes, true},
		// the legacy formats of gperftools, and V8
		{"objects", count, true},
		{"space", bytes, true},
		{"allocations", count, false},
		{"thread", count, true},
		{"threads", count, true},
		// recordings of JFR
		{"alloc_in_new_tlab_objects", count, false},
		{"alloc_in_new_tlab_bytes", bytes, false},
		{"alloc_outside_tlab_objects", count, false},
		{"alloc_outside_tlab_bytes", bytes, false},
		{"alloc_sample_objects", count, false},
		{"alloc_sample_bytes", bytes, false},
		{"live", count, true},
		{"malloc_objects", count, false},
		{"malloc_bytes", bytes, false},
		// Datadog's clients
		{"cpu-time", nanoseconds, false},
		{"cpu-samples", count, false},
		{"wall-time", nanoseconds, false},
		{"exception-samples", count, false},
		{"lock-acquire", count, false},
		{"lock-acquire-wait", nanoseconds, false},
		{"alloc-samples", count, false},
		{"alloc-space", bytes, false},
		{"heap-space", bytes, true},
		{"heap-live-samples", count, true},
		{"heap-live-size", bytes, true},
		// others
		{"events", count, false},
		{"cycles", count, false},
		{"live_objects", count, true},
		{"live_bytes", bytes, true},
		{"objects_freed", count, false},
		{"goroutine_switches", count, false},
		{"live-reloads", count, false},
		{"", "", false},
	}
}

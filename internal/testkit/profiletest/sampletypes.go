// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

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

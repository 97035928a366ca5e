// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import "github.com/otelpprof/otelpprof/translator/jfr/internal/outline"

// kind is a kind of profile.
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

// kindInfo is what the profiles of one kind are called. These are the names of Pyroscope.
type kindInfo struct {
	// profile is the name of the profile.
	profile string
	// value is the type of the value of an event. Its profile comes first.
	value valueType
	// count is the type of the number of events, for kinds that have it beside the value.
	count valueType
	// period is the type of the period, if there is one.
	period valueType
}

const (
	nanoseconds = "nanoseconds"
	bytesUnit   = "bytes"
	count       = "count"
)

var space = valueType{"space", bytesUnit}

var kinds = [numKinds]kindInfo{
	kindCPU: {
		profile: "process_cpu",
		value:   valueType{"cpu", nanoseconds},
		period:  valueType{"cpu", nanoseconds},
	},
	kindWall: {
		profile: "wall",
		value:   valueType{"wall", nanoseconds},
		period:  valueType{"wall", nanoseconds},
	},
	kindInNewTLAB: {
		profile: "memory",
		value:   valueType{"alloc_in_new_tlab_bytes", bytesUnit},
		count:   valueType{"alloc_in_new_tlab_objects", count},
		period:  space,
	},
	kindOutsideTLAB: {
		profile: "memory",
		value:   valueType{"alloc_outside_tlab_bytes", bytesUnit},
		count:   valueType{"alloc_outside_tlab_objects", count},
		period:  space,
	},
	kindAllocationSample: {
		profile: "memory",
		value:   valueType{"alloc_sample_bytes", bytesUnit},
		count:   valueType{"alloc_sample_objects", count},
		period:  space,
	},
	kindLive: {
		profile: "memory",
		value:   valueType{"live", count},
		period:  valueType{"objects", count},
	},
	kindMalloc: {
		profile: "memory",
		value:   valueType{"malloc_bytes", bytesUnit},
		count:   valueType{"malloc_objects", count},
	},
	kindLock: {
		profile: "mutex",
		value:   valueType{"delay", nanoseconds},
		count:   valueType{"contentions", count},
		period:  valueType{"mutex", count},
	},
	kindPark: {
		profile: "block",
		value:   valueType{"delay", nanoseconds},
		count:   valueType{"contentions", count},
		period:  valueType{"block", count},
	},
}

// samplesType is the type of execution samples whose period is not known.
var samplesType = valueType{"samples", count}

// columns is how many values an event has.
func (k kind) columns() int {
	if kinds[k].count == (valueType{}) {
		return 1
	}
	return 2
}

// kindOf has the kind of profile that a kind of event is in. Execution samples and those of the wall clock may be in both.
var kindOf = map[outline.Kind]kind{
	outline.ExecutionSample:       kindCPU,
	outline.WallClockSample:       kindWall,
	outline.AllocationInNewTLAB:   kindInNewTLAB,
	outline.AllocationOutsideTLAB: kindOutsideTLAB,
	outline.AllocationSample:      kindAllocationSample,
	outline.LiveObject:            kindLive,
	outline.Malloc:                kindMalloc,
	outline.MonitorEnter:          kindLock,
	outline.ThreadPark:            kindPark,
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import "github.com/otelpprof/otelpprof/translator/jfr/internal/outline"

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

// samplesType is the sample type of execution samples if their period is not known.
var samplesType = valueType{"samples", count}

// columns returns the number of profiles of a kind: 2 with a count, or else 1.
func (k kind) columns() int {
	if kinds[k].count == (valueType{}) {
		return 1
	}
	return 2
}

// kindOf maps kinds of events to kinds of profiles. Events of the first two may be in both kindCPU and kindWall.
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

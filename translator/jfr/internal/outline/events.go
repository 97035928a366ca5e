// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package outline

// Kind is a kind of event that the parser reads.
type Kind byte

// The kinds of events.
const (
	NoKind Kind = iota
	ExecutionSample
	WallClockSample
	AllocationInNewTLAB
	AllocationOutsideTLAB
	AllocationSample
	MonitorEnter
	ThreadPark
	LiveObject
	Malloc
	Free
	ActiveSetting
	numKinds
)

var kindsByName = map[string]Kind{
	"jdk.ExecutionSample": ExecutionSample, "profiler.WallClockSample": WallClockSample,
	"jdk.ObjectAllocationInNewTLAB": AllocationInNewTLAB, "jdk.ObjectAllocationOutsideTLAB": AllocationOutsideTLAB,
	"jdk.ObjectAllocationSample": AllocationSample, "jdk.JavaMonitorEnter": MonitorEnter, "jdk.ThreadPark": ThreadPark,
	"profiler.LiveObject": LiveObject, "profiler.Malloc": Malloc, "profiler.Free": Free, "jdk.ActiveSetting": ActiveSetting,
}

// valuesOf is how many values an event of a kind makes.
var valuesOf = [numKinds]int{
	ExecutionSample: 1, WallClockSample: 1, AllocationInNewTLAB: 2, AllocationOutsideTLAB: 2, AllocationSample: 2, MonitorEnter: 2,
	ThreadPark: 2, LiveObject: 1, Malloc: 2,
}

// maxListedClass is the largest number of a class that is in a list.
const maxListedClass = 1 << 14

// setKind notes the kind of events that a class is of.
func (r *reader) setKind(c *class) {
	c.kind = kindsByName[c.name]
	if c.kind == NoKind || c.id > maxListedClass {
		return
	}
	if n := int(c.id) + 1 - len(r.parsed); n > 0 {
		r.parsed = append(r.parsed, make([]*class, n)...)
	}
	r.parsed[c.id] = c
}

// parsedClass returns the class with this number, if the parser reads its events.
func (r *reader) parsedClass(id uint64) *class {
	if id < uint64(len(r.parsed)) {
		return r.parsed[id]
	}
	if id > maxListedClass {
		if c := r.byID[int64(id)]; c != nil && c.kind != NoKind {
			return c
		}
	}
	return nil
}

// readEvents walks over the events of the chunk, and over the fields of those that the parser reads.
func (r *reader) readEvents() error {
	for pos := headerBytes; pos < len(r.data); {
		size, next := readLong(r.data, pos)
		if next < 0 || size == 0 || size > uint64(len(r.data)-pos) {
			return r.fail(pos, "an event has %d bytes, %d are left in the chunk", size, len(r.data)-pos)
		}
		end := pos + int(size)
		id, next := readLong(r.data, next)
		if next < 0 {
			return r.cut(pos, "an event")
		}
		if c := r.parsedClass(id); c != nil {
			if err := r.readEvent(c, next, end); err != nil {
				return err
			}
		}
		pos = end
	}
	return nil
}

func (r *reader) readEvent(c *class, pos, end int) error {
	if pos > end {
		return r.cut(pos, "an event of "+c.name)
	}
	if _, err := r.skipFields(c, pos, end); err != nil {
		return err
	}
	r.chunk.Parsed++
	r.out.Events[c.kind]++
	if r.values += valuesOf[c.kind]; r.values > r.limits.Events {
		return TooLarge("samples", r.values, r.limits.Events)
	}
	if c.kind == ActiveSetting {
		return r.readSetting(c, pos, end)
	}
	return nil
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/translator/internal/message"
)

// survey counts the events of all chunks, reads their settings, and finds when threads worked on which span. Both can be written after
// the samples that they are for.
func (t *decoding) survey() error {
	t.settings = make([]settings, 0, len(t.chunks))
	t.firstSettings = make([]int, 0, len(t.chunks)+1)
	skippedTypes := map[string]int{}
	var values [numKinds]int
	for _, chunk := range t.chunks {
		t.chunk = chunk
		t.firstSettings = append(t.firstSettings, len(t.settings))
		t.settings = append(t.settings, settings{})
		events := chunk.events()
		for events.next() && t.meter.Err() == nil {
			if events.class == nil {
				continue
			}
			e := events.class.event
			t.counts[e.role]++
			switch e.role {
			case skipped:
				skippedTypes[events.class.name]++
			case setting:
				t.addSetting(events.fields())
			case attached, scoped:
				t.addScope(e.role, events.fields())
			case value:
				values[e.kind]++
			}
		}
		if err := events.err; err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(skippedTypes)) {
		t.stats.Skipped = append(t.stats.Skipped, SkippedEvents{strings.Clone(name), skippedTypes[name]})
	}
	t.firstSettings = append(t.firstSettings, len(t.settings))
	completeSettings(t.settings, t.src.Period)
	t.scopes.sort()
	return t.plan(values)
}

// plan begins the lists of events. expected has the number of events with values.
func (t *decoding) plan(expected [numKinds]int) error {
	expected[kindCPU] = t.counts[executionSample] + t.counts[cpuTimeSample] + t.counts[datadogCPUSample]
	expected[kindWall] = t.counts[wallClockSample] + t.counts[nativeMethodSample] + t.counts[datadogWallSample]
	samples := expected[kindCPU] + expected[kindWall]
	values := samples
	for k := kindWall + 1; k < numKinds; k++ {
		values += k.columns() * expected[k]
	}
	if limit := t.opts.Limits.Samples; values > limit {
		return tooLarge("samples", values, limit)
	}
	if t.counts[cpuTimeSample] > 0 || slices.ContainsFunc(t.settings, func(s settings) bool { return s.event == eventWall || s.samplesBoth() }) {
		expected[kindCPU], expected[kindWall] = samples, samples // Some samples are of both, and count once towards the limit.
	}
	entries := 1 << bits.Len(uint(min(samples+minEntries, maxEntries)-1))
	bytes := int64(messageBytes + frameEntryBytes<<frameBits + sampleEntryBytes*entries)
	for k := range numKinds {
		bytes += int64(expected[k]) * (message.EventBytes + messageEventBytes*int64(k.columns()))
	}
	if err := t.meter.Use(bytes); err != nil {
		return err
	}
	t.samples = scratch.Zeroed(t.samples, entries)
	for k := range numKinds {
		t.lists[k].Reset(expected[k])
	}
	return nil
}

// readEvents collects the events of all chunks.
func (t *decoding) readEvents() error {
	for i, chunk := range t.chunks {
		t.chunk = chunk
		begin, _ := t.chunk.time(chunk.startTicks)
		t.note(begin)
		t.end = max(t.end, min(begin+min(chunk.durationNanos, 1<<62), maxTime))
		t.number = int32(i)
		events := chunk.events()
		for events.next() {
			if events.class != nil && events.class.event.role >= executionSample {
				t.addEvent(&events.class.event, events.fields())
			}
			if err := t.meter.Err(); err != nil {
				return err
			}
		}
		if err := events.err; err != nil {
			return err
		}
	}
	return nil
}

// note extends the time range of the profiles to include a time in nanoseconds.
func (t *decoding) note(time uint64) {
	t.start = min(t.start, time)
	t.end = max(t.end, time+1)
}

// addEvent adds an event to the lists of its kinds.
func (t *decoding) addEvent(e *eventType, v *fields) {
	s := t.settingsAt(v[fieldStartTime])
	o := observation{
		ticks: v[fieldStartTime], thread: v[fieldThread], stack: v[fieldStack], state: v[fieldState],
		context: spanContext{v[fieldContextID], v[fieldSpanID], v[fieldSpanName], v[fieldTraceHigh], v[fieldTraceLow]},
	}
	t.locate(&o)
	t.stats.Samples++
	switch e.role {
	case executionSample:
		if t.last.settings != s || t.last.state != o.state {
			t.last.settings, t.last.state = s, o.state
			t.last.cpu, t.last.wall = t.clocksOf(o.state, s)
		}
		if t.last.cpu {
			t.addTime(kindCPU, &o, 1, s.execution)
		}
		if t.last.wall {
			t.addTime(kindWall, &o, 1, s.wallPeriod())
		}
	case cpuTimeSample:
		t.addTime(kindCPU, &o, 1, time.Duration(t.chunk.duration(v[fieldSamplingPeriod])))
	case wallClockSample:
		if s.event == eventWall && string(t.stateName(o.state)) == stateRunnable {
			t.addTime(kindCPU, &o, v[fieldSamples], s.execution)
		}
		t.addTime(kindWall, &o, v[fieldSamples], s.wallPeriod())
	case nativeMethodSample:
		t.addTime(kindWall, &o, 1, s.native)
	case datadogCPUSample:
		t.addTime(kindCPU, &o, max(v[fieldWeight], 1), s.execution)
	case datadogWallSample:
		t.addTime(kindWall, &o, max(v[fieldWeight], 1), s.native)
	case value:
		amount := uint64(1)
		if e.value != 0 {
			amount = uint64(max(int64(v[e.value]), 0)) // Clocks that differ between processors make negative durations.
		}
		if e.value == fieldDuration {
			amount = t.chunk.duration(amount)
		}
		t.add(e.kind, &o, int64(amount))
	}
}

// clocksOf reports whether an execution sample counts as CPU time, and whether it counts as wall-clock time. When a profiler samples the
// wall clock, a running thread uses the CPU as well. As in Pyroscope, each thread that does not sleep counts as running. Where the JDK
// measures CPU time, that has samples of its own.
func (t *decoding) clocksOf(state uint64, s *settings) (cpu, wall bool) {
	switch {
	case t.counts[cpuTimeSample] > 0:
		return false, true
	case s.samplesBoth():
		cpu = string(t.stateName(state)) == stateDefault
		return cpu, !cpu
	default:
		return string(t.stateName(state)) != stateSleeping, s.event == eventWall
	}
}

// addTime adds n samples, each of which stands for a period. If the period is not known, the value is n.
func (t *decoding) addTime(k kind, o *observation, n uint64, period time.Duration) {
	if t.periods[k] == 0 {
		t.periods[k] = period
	}
	nanos := uint64(max(period, 1))
	if n > math.MaxInt64/nanos {
		n = math.MaxInt64 / nanos
	}
	t.add(k, o, int64(n*nanos))
}

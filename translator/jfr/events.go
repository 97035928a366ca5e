// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"math"
	"time"
)

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

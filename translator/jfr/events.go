// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"math"
	"time"

	"github.com/otelpprof/otelpprof/translator/jfr/internal/reader"
)

// readEvents collects the events of all chunks.
func (t *decoding) readEvents() error {
	for i, chunk := range t.chunks {
		t.openChunk(chunk)
		begin, _ := t.clock.time(chunk.StartTicks)
		t.note(begin)
		t.end = max(t.end, min(begin+min(chunk.DurationNanos, 1<<62), maxTime))
		t.number = int32(i)
		events := chunk.Events()
		for events.Next() {
			if e := eventOf(events.Class); e.role >= executionSample {
				t.addEvent(e, events.Values())
			}
			if err := t.meter.Err(); err != nil {
				return err
			}
		}
		if err := events.Err(); err != nil {
			return err
		}
	}
	return nil
}

// openChunk begins a chunk.
func (t *decoding) openChunk(c *reader.Chunk) {
	t.chunk, t.clock = c, newClock(c)
}

// note extends the time range of the profiles to include a time in nanoseconds.
func (t *decoding) note(time uint64) {
	t.start = min(t.start, time)
	t.end = max(t.end, time+1)
}

// addEvent adds an event to the lists of its kinds.
func (t *decoding) addEvent(e *eventType, v *reader.Values) {
	s := t.settingsAt(v[reader.StartTime])
	o := observation{
		ticks: v[reader.StartTime], thread: v[reader.Thread], stack: v[reader.Stack], state: v[reader.State],
		context: spanContext{v[reader.ContextID], v[reader.SpanID], v[reader.SpanName], v[reader.TraceHigh], v[reader.TraceLow]},
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
		t.addTime(kindCPU, &o, 1, time.Duration(t.clock.duration(v[reader.SamplingPeriod])))
	case wallClockSample:
		if s.event == eventWall && string(t.stateName(o.state)) == stateRunnable {
			t.addTime(kindCPU, &o, v[reader.Samples], s.execution)
		}
		t.addTime(kindWall, &o, v[reader.Samples], s.wallPeriod())
	case nativeMethodSample:
		t.addTime(kindWall, &o, 1, s.native)
	case datadogCPUSample:
		t.addTime(kindCPU, &o, max(v[reader.Weight], 1), s.execution)
	case datadogWallSample:
		t.addTime(kindWall, &o, max(v[reader.Weight], 1), s.native)
	case value:
		amount := uint64(1)
		if e.value == reader.Duration {
			amount = t.clock.duration(v[reader.Duration])
		} else if e.value != 0 {
			amount = v[e.value]
		}
		t.add(e.kind, &o, int64(min(amount, math.MaxInt64)))
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

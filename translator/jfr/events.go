// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"errors"
	"io"
	"math"

	"github.com/otelpprof/otelpprof/translator/jfr/internal/outline"

	"github.com/grafana/jfr-parser/parser"
	"github.com/grafana/jfr-parser/parser/types/def"
)

// readEvents parses the recording and collects its events. The parser panics if a recording refers to an entry that does not exist, or
// has a field of an unexpected type: such a panic becomes an error of the recording. The outline has already refused recordings that
// would make the parser allocate too much or run too long.
func (t *decoding) readEvents(data []byte) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			if !t.parsing {
				panic(cause)
			}
			err = outline.Malformed("cannot parse: %v", cause)
		}
	}()
	t.parser = parser.NewParser(data, parser.Options{})
	for i := range t.recording.Chunks {
		c := &t.recording.Chunks[i]
		for n := range c.Parsed {
			typ, err := t.next()
			if err != nil {
				return outline.Malformed("cannot parse: %s", err.Error())
			}
			if n == 0 {
				t.openChunk(c)
			}
			t.addEvent(typ)
			if t.reserved.err != nil {
				return t.reserved.err
			}
		}
	}
	if _, err := t.next(); !errors.Is(err, io.EOF) {
		return outline.Malformed("cannot parse what follows the events: %v", err)
	}
	return nil
}

func (t *decoding) next() (def.TypeID, error) {
	t.parsing = true
	typ, err := t.parser.ParseEvent()
	t.parsing = false
	return typ, err
}

// addEvent adds an event to the lists of its kinds. It ignores events of other types.
func (t *decoding) addEvent(typ def.TypeID) {
	p := t.parser
	switch typ {
	case p.TypeMap.T_EXECUTION_SAMPLE:
		t.addExecutionSample()
	case p.TypeMap.T_WALL_CLOCK_SAMPLE:
		t.addWallClockSample()
	case p.TypeMap.T_ALLOC_IN_NEW_TLAB:
		e := &p.ObjectAllocationInNewTLAB
		t.addOnly(kindInNewTLAB, &observation{
			ticks: e.StartTime, thread: e.EventThread, stack: e.StackTrace,
			context: spanContext{e.ContextId, e.SpanId, e.SpanName, e.TraceIdHi, e.TraceIdLo},
		}, e.TlabSize)
	case p.TypeMap.T_ALLOC_OUTSIDE_TLAB:
		e := &p.ObjectAllocationOutsideTLAB
		t.addOnly(kindOutsideTLAB, &observation{
			ticks: e.StartTime, thread: e.EventThread, stack: e.StackTrace,
			context: spanContext{e.ContextId, e.SpanId, e.SpanName, e.TraceIdHi, e.TraceIdLo},
		}, e.AllocationSize)
	case p.TypeMap.T_ALLOC_SAMPLE:
		e := &p.ObjectAllocationSample
		t.addOnly(kindAllocationSample, &observation{ticks: e.StartTime, thread: e.EventThread, stack: e.StackTrace}, e.Weight)
	case p.TypeMap.T_LIVE_OBJECT:
		e := &p.LiveObject
		t.addOnly(kindLive, &observation{ticks: e.StartTime, thread: e.EventThread, stack: e.StackTrace}, 1)
	case p.TypeMap.T_MALLOC:
		e := &p.Malloc
		t.addOnly(kindMalloc, &observation{ticks: e.StartTime, thread: e.EventThread, stack: e.StackTrace}, e.Size)
	case p.TypeMap.T_MONITOR_ENTER:
		e := &p.JavaMonitorEnter
		t.addOnly(kindLock, &observation{
			ticks: e.StartTime, thread: e.EventThread, stack: e.StackTrace,
			context: spanContext{e.ContextId, e.SpanId, e.SpanName, e.TraceIdHi, e.TraceIdLo},
		}, t.clock.duration(e.Duration))
	case p.TypeMap.T_THREAD_PARK:
		e := &p.ThreadPark
		t.addOnly(kindPark, &observation{ticks: e.StartTime, thread: e.EventThread, stack: e.StackTrace}, t.clock.duration(e.Duration))
	}
}

// addOnly adds an event that has only one kind. A value above the largest int64 becomes that.
func (t *decoding) addOnly(k kind, o *observation, value uint64) {
	t.stats.Events++
	t.add(k, o, int64(min(value, math.MaxInt64)))
}

// addExecutionSample adds a sample to the CPU time, to the wall-clock time, or to both: when a profiler samples the wall clock, a
// running thread uses the CPU as well. As in Pyroscope, each thread that does not sleep counts as running.
func (t *decoding) addExecutionSample() {
	e := &t.parser.ExecutionSample
	o := observation{
		ticks: e.StartTime, thread: e.SampledThread, stack: e.StackTrace, state: e.State,
		context: spanContext{e.ContextId, e.SpanId, e.SpanName, e.TraceIdHi, e.TraceIdLo},
	}
	t.stats.Events++
	if e.State != t.chunk.lastState || !t.chunk.lastKnown {
		t.chunk.lastState, t.chunk.lastKnown = e.State, true
		t.chunk.lastCPU, t.chunk.lastWall = t.clocksOf(t.state(e.State))
	}
	if t.chunk.lastCPU {
		t.add(kindCPU, &o, t.period(kindCPU))
	}
	if t.chunk.lastWall {
		t.add(kindWall, &o, t.period(kindWall))
	}
}

// clocksOf reports whether an execution sample with a state counts as CPU time, and whether it counts as wall-clock time.
func (t *decoding) clocksOf(state string) (cpu, wall bool) {
	if t.samplesBoth() {
		return state == stateDefault, state != stateDefault
	}
	return state != stateSleeping, t.recording.Settings.Event == eventWall
}

// addWallClockSample adds an event that stands for several samples of a thread.
func (t *decoding) addWallClockSample() {
	e := &t.parser.WallClockSample
	o := observation{
		ticks: e.StartTime, thread: e.SampledThread, stack: e.StackTrace, state: e.State,
		context: spanContext{e.ContextId, e.SpanId, e.SpanName, e.TraceIdHi, e.TraceIdLo},
	}
	t.stats.Events++
	if t.recording.Settings.Event == eventWall && t.state(e.State) == stateRunnable {
		t.add(kindCPU, &o, times(int64(e.Samples), t.period(kindCPU)))
	}
	t.add(kindWall, &o, times(int64(e.Samples), t.period(kindWall)))
}

// eventWall is the setting event of a recording in which async-profiler sampled the wall clock.
const eventWall = "wall"

// samplesBoth reports whether the recording has execution samples of both the CPU and the wall clock. Their state distinguishes them.
func (t *decoding) samplesBoth() bool {
	return t.recording.Settings.Wall > 0 && t.recording.Settings.Event != eventWall
}

// period returns the time between two samples in nanoseconds, or 1 if it is not known.
func (t *decoding) period(k kind) int64 {
	period := t.recording.Settings.Period
	if k == kindWall && t.recording.Settings.Wall > 0 {
		period = t.recording.Settings.Wall
	}
	if period == 0 {
		period = t.src.Period
	}
	return max(int64(period), 1)
}

// times returns n periods, at most the largest int64.
func times(n, period int64) int64 {
	if n > math.MaxInt64/period {
		return math.MaxInt64
	}
	return n * period
}

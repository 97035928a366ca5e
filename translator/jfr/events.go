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

// readEvents parses the recording and collects its events. The parser panics where a recording is not as it expects. What could
// make it allocate too much, or run for too long, the outline has refused; what is left is a reference to something that
// does not exist, or a field of an unexpected type. So a panic of the parser is an error of the recording.
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

// addEvent adds an event to the profiles that it belongs to.
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

// addOnly adds an event that belongs to one profile.
func (t *decoding) addOnly(k kind, o *observation, value uint64) {
	t.stats.Events++
	t.add(k, o, int64(min(value, math.MaxInt64)))
}

// addExecutionSample adds a sample to the CPU time, to the wall-clock time, or to both: where the wall clock is sampled, a thread
// that runs uses the CPU, too. As Pyroscope has it, a thread that does not sleep runs.
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

// clocksOf tells whether an execution sample in a state is of the CPU, and whether it is of the wall clock.
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

// eventWall is the setting of a recording of async-profiler that samples the wall clock.
const eventWall = "wall"

// samplesBoth tells whether execution samples are of the CPU and of the wall clock, told apart by their state.
func (t *decoding) samplesBoth() bool {
	return t.recording.Settings.Wall > 0 && t.recording.Settings.Event != eventWall
}

// period returns the time between two samples, or 1 if that is not known.
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

func times(n, period int64) int64 {
	if n > math.MaxInt64/period {
		return math.MaxInt64
	}
	return n * period
}

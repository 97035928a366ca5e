// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package perfscript translates the text output of Linux perf script to OTLP profiles: samples with their thread, CPU,
// time, period, event and stack.
package perfscript // import "github.com/otelpprof/otelpprof/translator/text/perfscript"

import (
	"bytes"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// Decode translates the output of one perf script: plain, in gzip or in zstd. Each event becomes a profile, with the
// event as profile.name. The result shares no memory with payload. Samples that differ only in their time become one.
//
// The value of a sample is its period: how often the event has occurred since the previous sample. For cpu-clock and
// task-clock this is CPU time, with the type cpu and the unit nanoseconds. For other events the type is the name of the
// event. If perf printed no periods, each sample counts 1.
//
// By default, the times of perf count from the boot of the machine. Then the profile has a duration, but no time. Times
// after the year 2000 are wall-clock times, as perf record -k CLOCK_REALTIME writes them. Then samples have timestamps.
func Decode(payload []byte, src pprof.Source, options text.Options) (pprofile.Profiles, pprof.DecodeStats, error) {
	return profilebuilder.Decode(payload, src, options, "perf_script", func(b *profilebuilder.Builder, plain []byte) {
		r := &reader{Builder: b, byEvent: map[bool]map[string]*eventProfile{false: {}, true: {}}, executables: map[codeKey]executable{}}
		r.readText(plain)
	})
}

// Attributes of samples, from the semantic conventions.
const (
	attributePID = "process.pid"
	attributeCPU = "cpu.logical_number"
)

// reader reads one payload.
type reader struct {
	*profilebuilder.Builder
	// byEvent has the profiles by whether their samples have periods: perf prints those of some events only.
	byEvent     map[bool]map[string]*eventProfile
	executables map[codeKey]executable
	// samples counts the samples that were read. The first one sets wallClock.
	samples   int
	wallClock bool

	// sample is the header of the current sample, if inSample is true. Its stack is leaf first.
	sample   header
	inSample bool
	stack    []int32
	// lines are the inlined functions at address, until the function that they are inlined into.
	lines      []dictionary.Line
	address    uint64
	attributes []int32
}

// readText reads all samples. An empty line or the next header ends a sample.
func (r *reader) readText(text []byte) {
	last := r.EachLine(text, r.readLine)
	if r.Err() != nil {
		return
	}
	if r.endSample(); r.Err() != nil {
		r.AddPosition("line %d", last)
	}
	if r.samples == 0 {
		r.Failf("there is no sample")
	}
}

func (r *reader) readLine(line []byte) {
	switch {
	case len(line) == 0:
		r.endSample()
		return
	case line[0] == '#':
		return
	}
	if line[0] != '\t' {
		if h, ok := r.parseHeader(line); ok {
			r.endSample()
			r.beginSample(&h)
			return
		}
	}
	f, ok := parseFrame(line)
	switch {
	case line[0] != '\t' && r.readRecord(line):
	case !isSpace(line[0]) || !r.inSample:
		r.Failf("%q is not the header of a sample, which needs a thread, a time and an event: comm pid/tid [cpu] time: period event:", line)
	case !ok:
		r.Failf("%q is not a frame, which begins with an address: address symbol (file)", bytes.TrimSpace(line))
	default:
		r.addFrame(&f)
	}
}

// beginSample starts a sample. Without call graphs, its only frame is on the same line. For a tracepoint, its fields
// follow the event name; they are ignored.
func (r *reader) beginSample(h *header) {
	r.sample, r.inSample = *h, true
	r.stack, r.lines = r.stack[:0], r.lines[:0]
	if f, ok := parseFrame(h.rest); ok && f.hasFile {
		f.flat = true
		r.addFrame(&f)
	}
}

func (r *reader) endSample() {
	if !r.inSample || r.Err() != nil {
		return
	}
	r.inSample = false
	if len(r.lines) > 0 {
		r.addLocation(&frame{address: r.address})
	}
	h := &r.sample
	r.attributes = r.attributes[:0]
	if len(h.comm) > 0 {
		r.attributes = append(r.attributes, r.StringAttribute(semconv.ThreadName, h.comm))
	}
	r.addNumber(attributePID, h.pid)
	r.addNumber(semconv.ThreadID, h.tid)
	r.addNumber(attributeCPU, h.cpu)
	r.attributes = dictionary.SortSet(r.attributes, 0)
	r.addSample(h, r.Stack(r.stack, false))
}

// addNumber adds an attribute, unless the value is unknown.
func (r *reader) addNumber(key string, value int64) {
	if value >= 0 {
		r.attributes = append(r.attributes, r.IntAttribute(key, value))
	}
}

// eventProfile is the profile of one event, with the times of its first and last sample.
type eventProfile struct {
	*profilebuilder.Profile
	first, last uint64
}

// addSample adds a sample with the current attributes of the reader.
func (r *reader) addSample(h *header, stack int32) {
	if r.samples == 0 {
		r.wallClock = h.time >= profilebuilder.FirstWallClock
	}
	if r.wallClock && h.time < profilebuilder.FirstWallClock {
		r.Failf("the time %d.%09d is before the year 2000, those of earlier samples are not", h.time/1e9, h.time%1e9)
	}
	r.samples++
	p := r.profileOf(h)
	value := int64(1)
	if h.hasPeriod {
		value = h.period
	}
	if value != p.Period {
		p.Period = 0 // The samples have several.
	}
	p.first, p.last = min(p.first, h.time), max(p.last, h.time)
	p.Duration = p.last - p.first
	time := uint64(0)
	if r.wallClock {
		time = h.time
	}
	p.Add(stack, r.attributes, value, time)
}

func (r *reader) profileOf(h *header) *eventProfile {
	if p := r.byEvent[h.hasPeriod][string(h.event)]; p != nil {
		return p
	}
	r.Use(2 * int64(len(h.event))) // the key, and the name of the type
	if r.Err() != nil {
		return &eventProfile{Profile: r.AddProfile(profilebuilder.Profile{})}
	}
	p := &eventProfile{r.AddProfile(profilebuilder.Profile{Name: h.event, Type: typeOf(h), Period: h.period}), h.time, h.time}
	if h.hasPeriod {
		// Also if the periods differ: pprofs with and without a period type cannot be merged.
		p.PeriodType = p.Type
	}
	r.byEvent[h.hasPeriod][string(h.event)] = p
	return p
}

// typeOf returns the sample type of an event.
func typeOf(h *header) pprof.ValueType {
	if !h.hasPeriod {
		return pprof.ValueType{Type: "samples", Unit: "count"}
	}
	switch event := withoutModifiers(h.event); string(event) {
	case "cpu-clock", "task-clock":
		return pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
	default:
		return pprof.ValueType{Type: string(event), Unit: "count"}
	}
}

// withoutModifiers removes the modifiers after the colon of an event name. They say where events are counted and with
// what precision.
func withoutModifiers(event []byte) []byte {
	colon := bytes.LastIndexByte(event, ':')
	if colon <= 0 || len(bytes.Trim(event[colon+1:], "ukhIGHpPSDWebR")) > 0 {
		return event
	}
	return event[:colon]
}

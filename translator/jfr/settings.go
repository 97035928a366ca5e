// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// settings are the settings of the recorder for one chunk, or for the part of it that begins when one of them changes. Their zero
// values mean that the chunk does not have them.
type settings struct {
	// from is the time of the change in ticks, or 0 at the start of a chunk.
	from uint64
	// event is what async-profiler samples, such as cpu or wall.
	event string
	// execution and native are the times between two execution samples and between two samples of native methods, or of Datadog's
	// two kinds of samples. wall is that between two samples of the wall clock, if async-profiler takes both.
	execution, native, wall time.Duration
}

const (
	// eventWall is the setting event of a chunk in which async-profiler sampled the wall clock.
	eventWall = "wall"
	// defaultInterval is that of async-profiler, and defaultWallInterval that of its samples of the wall clock. It writes both as 0.
	defaultInterval     = 10 * time.Millisecond
	defaultWallInterval = 50 * time.Millisecond
)

// timedEvents are the settings event with which the interval of async-profiler is a time. With others, such as cache-misses, it is a
// number of events.
var timedEvents = []string{"", "cpu", "itimer", "ctimer", eventWall, "cpu-clock", "task-clock"}

// samplesBoth reports whether the execution samples are of both the CPU and the wall clock. Their state distinguishes them.
func (s *settings) samplesBoth() bool { return s.wall > 0 && s.event != eventWall }

// wallPeriod is the time between two samples of the wall clock, or 0.
func (s *settings) wallPeriod() time.Duration { return cmp.Or(s.wall, s.execution) }

// addSetting notes the setting of an event. One that the chunk did not have is for all of the chunk, others are from their time on.
func (t *decoding) addSetting(v *fields) {
	last := &t.settings[len(t.settings)-1]
	next := *last
	t.readSetting(&next, v)
	merged := *last
	merged.inherit(&next)
	if from := v[fieldStartTime]; merged == next || from <= last.from {
		*last = next
	} else if t.meter.Use(settingsBytes) == nil {
		next.from = from
		t.settings = append(t.settings, next)
	}
}

// settingsAt returns the settings of the current chunk at a time.
func (t *decoding) settingsAt(ticks uint64) *settings {
	of := t.settings[t.firstSettings[t.number]:t.firstSettings[t.number+1]]
	i := sort.Search(len(of)-1, func(i int) bool { return of[i+1].from > ticks })
	return &of[i]
}

// readSetting sets the setting of an event, if samples depend on it. A period that is not a time, such as everyChunk, is not known: the
// JDK writes it for events that are off.
func (t *decoding) readSetting(s *settings, v *fields) {
	var of role
	if class := t.chunk.classes[v[fieldID]]; class != nil {
		of = class.event.role
	}
	name := string(t.shortText(v[fieldText]))
	value := string(t.shortText(v[fieldValue]))
	switch {
	case name == "event":
		s.event = value
	case of == nativeMethodSample && name == "period":
		s.native = cmp.Or(parsePeriod(value), s.native)
	case of == datadogWallSample && name == "interval":
		s.native = parseNanos(value)
	case of != executionSample && of != datadogCPUSample:
	case name == "period":
		s.execution = cmp.Or(parsePeriod(value), s.execution)
	case name == "interval":
		s.execution = parseNanos(value)
		switch {
		case s.execution > 0:
		case s.event == eventWall: // The event is the first setting.
			s.execution = defaultWallInterval
		default:
			s.execution = defaultInterval
		}
	case name == "wall" && value == "0":
		s.wall = defaultWallInterval
	case name == "wall":
		s.wall = parseNanos(value)
	}
}

// inherit takes the settings that a chunk does not have from another.
func (s *settings) inherit(from *settings) {
	s.event = cmp.Or(s.event, from.event)
	s.execution = cmp.Or(s.execution, from.execution)
	s.native = cmp.Or(s.native, from.native)
	s.wall = cmp.Or(s.wall, from.wall)
}

// completeSettings gives each chunk the settings that it does not have: those of the chunk before it, or else of the first that has
// them, or else of the caller. all are in the order of their times. The period is unknown with events that no time separates.
func completeSettings(all []settings, period time.Duration) {
	for i := 1; i < len(all); i++ {
		all[i].inherit(&all[i-1])
	}
	for i := len(all) - 2; i >= 0; i-- {
		all[i].inherit(&all[i+1])
	}
	for i := range all {
		all[i].inherit(&settings{execution: period, native: period})
		if !slices.Contains(timedEvents, all[i].event) {
			all[i].execution = 0
		}
	}
}

// parsePeriod parses a period of the JDK, such as "20 ms". It returns 0 for anything else.
func parsePeriod(value string) time.Duration {
	number, unit, _ := strings.Cut(value, " ")
	d, err := time.ParseDuration(number + unit)
	if err != nil {
		return 0
	}
	return max(d, 0)
}

func parseNanos(value string) time.Duration {
	nanos, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(max(nanos, 0))
}

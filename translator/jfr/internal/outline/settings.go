// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package outline

import (
	"strconv"
	"strings"
	"time"
)

// Settings are what a recording tells of how it was made. The JDK and async-profiler write it as events.
type Settings struct {
	// Event is what async-profiler samples, such as cpu or wall.
	Event string
	// Period is the time between two execution samples, 0 if it is not known. Wall is that of samples of the wall clock, when
	// async-profiler takes both.
	Period, Wall time.Duration
}

// defaultInterval is async-profiler's, which it writes as 0.
const defaultInterval = 10 * time.Millisecond

// readSetting notes a setting, if it is one that samples depend on. The event was skipped without an error before.
func (r *reader) readSetting(c *class, pos, end int) error {
	name, value, id := "", "", uint64(0)
	for i := range c.fields {
		f := &c.fields[i]
		switch {
		case f.pool || f.array:
		case f.name == "name" && f.value == valueString:
			name = readString(r.data, pos)
		case f.name == "value" && f.value == valueString:
			value = readString(r.data, pos)
		case f.name == "id" && f.value == valueLong:
			id, _ = readLong(r.data, pos)
		}
		pos, _ = r.skipField(f, pos, end)
	}
	of := NoKind
	if c := r.parsedClass(id); c != nil {
		of = c.kind
	}
	r.out.Settings.note(of, name, value)
	return nil
}

func (s *Settings) note(kind Kind, name, value string) {
	switch {
	case name == "event":
		s.Event = value
	case kind != ExecutionSample:
	case name == "period":
		s.Period = parsePeriod(value)
	case name == "interval":
		s.Period = parseNanos(value)
		if s.Period == 0 {
			s.Period = defaultInterval
		}
	case name == "wall":
		s.Wall = parseNanos(value)
	}
}

// parsePeriod reads a period of the JDK, such as "20 ms". It returns 0 for anything else, such as "everyChunk".
func parsePeriod(value string) time.Duration {
	number, unit, _ := strings.Cut(value, " ")
	d, err := time.ParseDuration(number + unit)
	if err != nil || d < 0 {
		return 0
	}
	return d
}

func parseNanos(value string) time.Duration {
	nanos, err := strconv.ParseInt(value, 10, 64)
	if err != nil || nanos < 0 {
		return 0
	}
	return time.Duration(nanos)
}

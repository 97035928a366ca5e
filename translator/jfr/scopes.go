// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/spanlink"
)

// scope is a time in which a thread works on a span.
type scope struct {
	thread, start, end uint64
	link               dictionary.Link
}

// untilNext is the end of a scope that ends with the next one of its kind.
const untilNext = math.MaxUint64

// scopes are the spans of all threads.
type scopes struct {
	all []scope
	// changes has the link of each thread from a time on, by thread and time. The end is not used.
	changes []scope
}

// scopeBytes is the memory of a scope with its two changes, while the lists grow.
const scopeBytes = 3 * 3 * 48

// addScope adds the scope of an event. An event of Datadog can have its ids as numbers.
func (t *decoding) addScope(r role, v *fields) {
	if !t.use(scopeBytes) {
		return
	}
	s := scope{thread: v[fieldThread], end: untilNext}
	s.start, _ = t.chunk.time(v[fieldStartTime])
	if r == scoped {
		s.end = s.start + t.chunk.duration(v[fieldDuration])
	}
	if v[fieldTraceText] != 0 {
		trace := string(t.shortText(v[fieldTraceText]))
		s.link, _ = spanlink.Parse(trace, string(t.shortText(v[fieldSpanText])), false)
	} else if v[fieldTraceLow] != 0 {
		binary.BigEndian.PutUint64(s.link.TraceID[8:], v[fieldTraceLow])
		binary.BigEndian.PutUint64(s.link.SpanID[:], v[fieldSpanID])
	}
	t.scopes.all = append(t.scopes.all, s)
}

// sort finds the changes. Of several scopes of a thread, the last that began counts.
func (s *scopes) sort() {
	slices.SortStableFunc(s.all, func(a, b scope) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	var open []scope
	// closeUntil closes the scopes that end until a time.
	closeUntil := func(time uint64) {
		for len(open) > 0 && open[len(open)-1].end <= time {
			change := scope{thread: open[0].thread, start: open[len(open)-1].end}
			for len(open) > 0 && open[len(open)-1].end <= change.start {
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				change.link = open[len(open)-1].link
			}
			s.changes = append(s.changes, change)
		}
	}
	for i, next := range s.all {
		if i > 0 && s.all[i-1].thread != next.thread {
			closeUntil(untilNext - 1)
			open = open[:0]
		}
		closeUntil(next.start)
		if n := len(open); n > 0 && next.end == untilNext && open[n-1].end == untilNext {
			open = open[:n-1]
		}
		open = append(open, next)
		s.changes = append(s.changes, next)
	}
	closeUntil(untilNext - 1)
}

// find returns the number of the change since which a thread works on its span at a time, plus one. 0 means that it works on none.
func (s *scopes) find(thread, time uint64) int32 {
	i, _ := slices.BinarySearchFunc(s.changes, scope{thread: thread, start: time}, func(a, b scope) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start), -1) // Of several at the time, the last.
	})
	if i == 0 || s.changes[i-1].thread != thread || s.changes[i-1].link == (dictionary.Link{}) {
		return 0
	}
	return int32(i)
}

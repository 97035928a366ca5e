// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/message"
)

// event is one observation. stack, link and name are indices in the dictionary. name is the attribute with the name of
// the event, or 0. period is in nanoseconds.
type event struct {
	stack, link, name int32
	time              uint64
	period            int64
}

// listedEvent is an event with the number of its identity: stack, link and attributes.
type listedEvent struct {
	number, name int32
	time         uint64
	period       int64
}

// events are the events of a profile that is being built.
type events struct {
	// written has the samples, without the names of events, and the events of the profile that is being written. If all events
	// have the same name, it becomes an attribute of the profile.
	written message.Events
	list    []listedEvent
	// values has one number for each column of each event, if hasValues.
	values    []int64
	columns   int
	hasValues bool

	namesDiffer   bool
	periodsDiffer bool
	longestPeriod int64
	first, last   uint64

	// Memory for finish and correctTimes.
	named      dictionary.SampleTable
	attributes []int32
	stamps     []uint64
}

func (e *events) begin(columns int) {
	e.written.Reset(0)
	e.list, e.values = e.list[:0], e.values[:0]
	e.columns, e.hasValues = columns, false
	e.namesDiffer, e.periodsDiffer, e.longestPeriod = false, false, 0
	e.first, e.last = math.MaxUint64, 0
}

func (e *events) len() int { return len(e.list) }

// bytes returns the memory that is kept, in bytes.
func (e *events) bytes() int {
	return 24*cap(e.list) + 8*(cap(e.values)+cap(e.stamps)) + 4*cap(e.attributes) + e.written.Kept() + int(e.named.Kept())
}

// add adds an event with the identity of this number. values has one number for each column, or is empty.
func (e *events) add(v *event, number int32, values []int64) {
	if n := len(e.list); n == 0 || v.time != e.list[n-1].time || v.name != e.list[n-1].name || v.period != e.list[n-1].period {
		e.note(v)
	}
	e.list = append(e.list, listedEvent{number, v.name, v.time, v.period})
	e.hasValues = e.hasValues || len(values) > 0
	switch len(values) {
	case 0:
		for range e.columns {
			e.values = append(e.values, 0)
		}
	case 1: // the usual case, without a function call
		e.values = append(e.values, values[0])
	default:
		e.values = append(e.values, values...)
	}
}

// note updates the data about all events.
func (e *events) note(v *event) {
	if len(e.list) > 0 {
		e.namesDiffer = e.namesDiffer || v.name != e.list[0].name
		e.periodsDiffer = e.periodsDiffer || v.period != e.list[0].period
	}
	e.longestPeriod = max(e.longestPeriod, v.period)
	e.first, e.last = min(e.first, v.time), max(e.last, v.time)
}

// number returns the number of an event's identity. The attributes must be sorted.
func (e *events) number(v *event, attributes []int32) int32 {
	number, _ := e.written.Samples.Index(dictionary.SampleIdentity{Stack: v.stack, Link: v.link}, attributes)
	return int32(number)
}

// finish returns the attribute with the name of the events if all have the same name: it belongs to the profile.
// Otherwise each name is added to its sample.
func (e *events) finish() (name int32) {
	if !e.namesDiffer {
		return e.list[0].name
	}
	e.named.Reset(0)
	for i := range e.list {
		v := &e.list[i]
		identity, attributes := e.written.Samples.At(int(v.number))
		e.attributes = append(e.attributes[:0], attributes...)
		if v.name != 0 {
			e.attributes = dictionary.SortSet(append(e.attributes, v.name), 0)
		}
		named, _ := e.named.Index(identity, e.attributes)
		v.number = int32(named)
	}
	e.written.Samples, e.named = e.named, e.written.Samples
	return 0
}

// write writes the events as samples. first is true for the first profile of the record.
func (e *events) write(samples pprofile.SampleSlice, w *weight, first bool, shape SampleShape) {
	e.written.Clear(len(e.list))
	for i := range e.list {
		v, value := &e.list[i], int64(1)
		switch w.kind {
		case weighsPeriod:
			value = v.period
		case weighsValue:
			value = e.values[i*e.columns+w.column]
			if value == 0 && !e.keepsZero(i, first) {
				continue
			}
		case weighsOne:
		}
		e.written.Add(message.Event{Sample: v.number, Time: v.time, Value: value})
	}
	if shape == PerEvent {
		e.written.WriteEach(samples)
		return
	}
	e.written.Sort()
	e.written.Write(samples, false)
}

// keepsZero reports whether a profile has event i although its value is 0. With several columns, zeros are left out; an event with
// only zeros is in the first profile.
func (e *events) keepsZero(i int, first bool) bool {
	values := e.values[i*e.columns:][:e.columns]
	return len(values) == 1 || first && !slices.ContainsFunc(values, func(v int64) bool { return v != 0 })
}

// maxDistance is how far the time of an event may be from that of the record, in nanoseconds. A time farther away comes from a
// wrong clock, and a profile whose range has it would be useless.
const maxDistance = uint64(10 * time.Minute)

// correctTimes replaces the times that are too far from the median by the median, and returns how many. The time of the record, which
// is 0 if it has none, counts like that of one more event. duration is that of the pprof.
func (e *events) correctTimes(ofRecord, duration uint64) (corrected int) {
	e.stamps = e.stamps[:0]
	first, last := e.first, e.last
	if ofRecord != 0 {
		e.stamps = append(e.stamps, ofRecord)
		first, last = min(first, ofRecord), max(last, ofRecord)
	}
	if last-first <= maxDistance {
		return 0
	}
	for i := range e.list {
		e.stamps = append(e.stamps, e.list[i].time)
	}
	slices.Sort(e.stamps)
	median := e.stamps[len(e.stamps)/2]
	e.first, e.last = median, median
	for i := range e.list {
		at := &e.list[i].time
		if max(*at, median)-min(*at, median) > maxDistance+duration {
			*at = median
			corrected++
		}
		e.first, e.last = min(e.first, *at), max(e.last, *at)
	}
	return corrected
}

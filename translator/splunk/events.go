// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"cmp"
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
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
	// table numbers the identities: stack, link and attributes without the name of the event. If all events have the same
	// name, it becomes an attribute of the profile.
	table dictionary.SampleTable
	list  []listedEvent
	// values has one number for each column of each event, if hasValues.
	values    []int64
	columns   int
	hasValues bool

	namesDiffer   bool
	periodsDiffer bool
	longestPeriod int64
	first, last   uint64

	// Memory for finish and write.
	named      dictionary.SampleTable
	attributes []int32
	order      []int32
	starts     []int32
	some       []int64
	stamps     []uint64
}

func (e *events) begin(columns int) {
	e.table.Reset(0)
	e.list, e.values = e.list[:0], e.values[:0]
	e.columns, e.hasValues = columns, false
	e.namesDiffer, e.periodsDiffer, e.longestPeriod = false, false, 0
	e.first, e.last = math.MaxUint64, 0
}

func (e *events) len() int { return len(e.list) }

// bytes returns the memory that is kept, in bytes.
func (e *events) bytes() int {
	return 24*cap(e.list) + 8*(cap(e.values)+cap(e.some)+cap(e.stamps)) + 4*(cap(e.attributes)+cap(e.order)+cap(e.starts)) +
		int(e.table.Kept()+e.named.Kept())
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
	number, _ := e.table.Index(dictionary.SampleIdentity{Stack: v.stack, Link: v.link}, attributes)
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
		identity, attributes := e.table.At(int(v.number))
		e.attributes = append(e.attributes[:0], attributes...)
		if v.name != 0 {
			e.attributes = dictionary.SortSet(append(e.attributes, v.name), 0)
		}
		named, _ := e.named.Index(identity, e.attributes)
		v.number = int32(named)
	}
	e.table, e.named = e.named, e.table
	return 0
}

// value returns the weight of event i.
func (e *events) value(i int32, w *weight) int64 {
	switch w.kind {
	case weighsPeriod:
		return e.list[i].period
	case weighsValue:
		return e.values[int(i)*e.columns+w.column]
	default:
		return 1
	}
}

// hasWeight reports whether event i is in the profile of the column. With several columns, zeros are left out; an event
// with only zeros is in the first profile.
func (e *events) hasWeight(i int32, w *weight, first bool) bool {
	if e.columns == 1 || e.value(i, w) != 0 {
		return true
	}
	values := e.values[int(i)*e.columns:][:e.columns]
	return first && !slices.ContainsFunc(values, func(v int64) bool { return v != 0 })
}

// write writes the events as samples. first is true for the first profile of the record.
func (e *events) write(samples pprofile.SampleSlice, w *weight, first bool, shape SampleShape) {
	if shape == PerEvent {
		samples.EnsureCapacity(len(e.list))
		for i := range int32(len(e.list)) {
			if e.hasWeight(i, w, first) {
				e.order = append(e.order[:0], i)
				e.writeSample(samples.AppendEmpty(), w)
			}
		}
		return
	}
	order := e.sortByIdentity(w, first)
	samples.EnsureCapacity(e.table.Len())
	for start := range e.table.Len() {
		if part := order[e.starts[start]:e.starts[start+1]]; len(part) > 0 {
			e.order = part
			e.writeSample(samples.AppendEmpty(), w)
		}
	}
	e.order = order
}

// sortByIdentity returns the events of the profile, sorted by identity. e.starts has the start of each identity.
func (e *events) sortByIdentity(w *weight, first bool) []int32 {
	e.starts = scratch.Zeroed(e.starts, e.table.Len()+2)
	n := int32(0)
	for i := range e.list {
		if e.columns == 1 || e.hasWeight(int32(i), w, first) {
			e.starts[e.list[i].number+2]++
			n++
		}
	}
	for i := 2; i < len(e.starts); i++ {
		e.starts[i] += e.starts[i-1]
	}
	order := slices.Grow(e.order[:0], int(n))[:n]
	for i := range e.list {
		if e.columns == 1 || e.hasWeight(int32(i), w, first) {
			next := &e.starts[e.list[i].number+1]
			order[*next] = int32(i)
			*next++
		}
	}
	return order
}

// writeSample writes one sample for the events in e.order, which have one identity.
func (e *events) writeSample(sample pprofile.Sample, w *weight) {
	if !e.gatherTimes() {
		slices.SortStableFunc(e.order, func(a, b int32) int { return cmp.Compare(e.list[a].time, e.list[b].time) })
		e.gatherTimes()
	}
	e.some = e.some[:0]
	for _, i := range e.order {
		e.some = append(e.some, e.value(i, w))
	}
	identity, attributes := e.table.At(int(e.list[e.order[0]].number))
	sample.SetStackIndex(identity.Stack)
	sample.SetLinkIndex(identity.Link)
	if len(attributes) > 0 {
		sample.AttributeIndices().FromRaw(attributes)
	}
	sample.Values().FromRaw(e.some)
	sample.TimestampsUnixNano().FromRaw(e.stamps)
}

// gatherTimes sets e.stamps to the times of the events in e.order, and reports whether they ascend.
func (e *events) gatherTimes() (ascend bool) {
	e.stamps = e.stamps[:0]
	ascend, last := true, uint64(0)
	for _, i := range e.order {
		time := e.list[i].time
		ascend = ascend && time >= last
		last = time
		e.stamps = append(e.stamps, time)
	}
	return ascend
}

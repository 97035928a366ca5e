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

// event is one observation. stack, link and name are indices of the dictionary; name is the attribute for the name of
// the event, 0 when it has none.
type event struct {
	stack, link, name int32
	time              uint64
	// period is in milliseconds.
	period int64
}

// events are those of a profile under construction.
type events struct {
	// table numbers their identities: stack, link and all attributes but the name of the event, which goes to the profile
	// when all have the same.
	table   dictionary.SampleTable
	numbers []int32
	names   []int32
	times   []uint64
	periods []int64
	// values holds columns numbers per event, which are there when hasValues.
	values    []int64
	columns   int
	hasValues bool

	namesDiffer   bool
	periodsDiffer bool
	longestPeriod int64
	first, last   uint64

	// Working memory for finish and write.
	named  dictionary.SampleTable
	list   []int32
	order  []int32
	starts []int32
	some   []int64
	stamps []uint64
}

func (e *events) begin(columns int) {
	e.table.Reset(0)
	e.numbers, e.names, e.times = e.numbers[:0], e.names[:0], e.times[:0]
	e.periods, e.values = e.periods[:0], e.values[:0]
	e.columns, e.hasValues = columns, false
	e.namesDiffer, e.periodsDiffer, e.longestPeriod = false, false, 0
	e.first, e.last = math.MaxUint64, 0
}

func (e *events) len() int { return len(e.numbers) }

// bytes is the memory that is kept.
func (e *events) bytes() int { return 40*cap(e.numbers) + 8*cap(e.values) }

// add adds an event. attributes is sorted; values has as many numbers as there are columns, or none.
func (e *events) add(v event, attributes []int32, values []int64) {
	number, _ := e.table.Index(dictionary.SampleIdentity{Stack: v.stack, Link: v.link}, attributes)
	if len(e.numbers) > 0 {
		e.namesDiffer = e.namesDiffer || v.name != e.names[0]
		e.periodsDiffer = e.periodsDiffer || v.period != e.periods[0]
	}
	e.numbers = append(e.numbers, int32(number))
	e.names = append(e.names, v.name)
	e.times = append(e.times, v.time)
	e.periods = append(e.periods, v.period)
	e.longestPeriod = max(e.longestPeriod, v.period)
	e.first, e.last = min(e.first, v.time), max(e.last, v.time)
	if len(values) == 0 {
		for range e.columns {
			e.values = append(e.values, 0)
		}
		return
	}
	e.hasValues = true
	e.values = append(e.values, values...)
}

// finish returns the attribute for the name of the events, if all have the same: it goes to the profile. Else each goes
// to its sample.
func (e *events) finish() (name int32) {
	if !e.namesDiffer {
		return e.names[0]
	}
	e.named.Reset(0)
	for i, number := range e.numbers {
		identity, attributes := e.table.At(int(number))
		e.list = append(e.list[:0], attributes...)
		if e.names[i] != 0 {
			e.list = dictionary.SortSet(append(e.list, e.names[i]), 0)
		}
		named, _ := e.named.Index(identity, e.list)
		e.numbers[i] = int32(named)
	}
	e.table, e.named = e.named, e.table
	return 0
}

// value returns the weight of event i.
func (e *events) value(i int32, w *weight) int64 {
	switch w.kind {
	case weighsPeriod:
		return e.periods[i] * nanosPerMilli
	case weighsValue:
		return e.values[int(i)*e.columns+w.column]
	default:
		return 1
	}
}

// carried tells whether event i is one of the column's profile: of several values a zero says nothing, unless all are zero,
// which the first profile tells.
func (e *events) carried(i int32, w *weight, first bool) bool {
	if e.columns == 1 || e.value(i, w) != 0 {
		return true
	}
	values := e.values[int(i)*e.columns:][:e.columns]
	return first && !slices.ContainsFunc(values, func(v int64) bool { return v != 0 })
}

// write makes samples of the events, of which first tells that they are those of the record's first profile.
func (e *events) write(samples pprofile.SampleSlice, w *weight, first bool, shape SampleShape) {
	if shape == PerEvent {
		for i := range int32(len(e.numbers)) {
			if e.carried(i, w, first) {
				e.order = append(e.order[:0], i)
				e.writeSample(samples.AppendEmpty(), w)
			}
		}
		return
	}
	order := e.sortByIdentity(w, first)
	for start := range e.table.Len() {
		if part := order[e.starts[start]:e.starts[start+1]]; len(part) > 0 {
			e.order = part
			e.writeSample(samples.AppendEmpty(), w)
		}
	}
	e.order = order
}

// sortByIdentity returns the events of the profile, those of one identity together: from e.starts of its number.
func (e *events) sortByIdentity(w *weight, first bool) []int32 {
	e.starts = scratch.Zeroed(e.starts, e.table.Len()+2)
	n := int32(0)
	for i, number := range e.numbers {
		if e.carried(int32(i), w, first) {
			e.starts[number+2]++
			n++
		}
	}
	for i := 2; i < len(e.starts); i++ {
		e.starts[i] += e.starts[i-1]
	}
	order := slices.Grow(e.order[:0], int(n))[:n]
	for i, number := range e.numbers {
		if e.carried(int32(i), w, first) {
			order[e.starts[number+1]] = int32(i)
			e.starts[number+1]++
		}
	}
	return order
}

// writeSample makes one sample of the events in e.order, which have one identity.
func (e *events) writeSample(sample pprofile.Sample, w *weight) {
	byTime := func(a, b int32) int { return cmp.Compare(e.times[a], e.times[b]) }
	if !slices.IsSortedFunc(e.order, byTime) {
		slices.SortStableFunc(e.order, byTime)
	}
	e.some, e.stamps = e.some[:0], e.stamps[:0]
	for _, i := range e.order {
		e.some = append(e.some, e.value(i, w))
		e.stamps = append(e.stamps, e.times[i])
	}
	identity, attributes := e.table.At(int(e.numbers[e.order[0]]))
	sample.SetStackIndex(identity.Stack)
	sample.SetLinkIndex(identity.Link)
	if len(attributes) > 0 {
		sample.AttributeIndices().FromRaw(attributes)
	}
	sample.Values().FromRaw(e.some)
	sample.TimestampsUnixNano().FromRaw(e.stamps)
}

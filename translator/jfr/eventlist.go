// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// event is one event of a kind.
type event struct {
	// sample is the number of its sample in eventList.samples.
	sample int32
	// time is in nanoseconds since 1970, value in the unit of the kind.
	time  uint64
	value int64
}

// eventList has the events of one kind and their samples.
type eventList struct {
	samples dictionary.SampleTable
	events  []event

	// order has the indices of the events by sample and time. starts has, for each sample, the start of its events in order.
	starts []int32
	order  []int32
	times  []uint64
	values []int64
}

func (l *eventList) begin(events int) {
	l.samples.Reset(0)
	l.events = slices.Grow(l.events[:0], events)
}

// release returns the size of the kept memory in bytes.
func (l *eventList) release() int {
	return int(l.samples.Kept()) + scratch.Bytes(l.events) + scratch.Bytes(l.starts) + scratch.Bytes(l.order) + scratch.Bytes(l.times) +
		scratch.Bytes(l.values)
}

// sort orders the events by sample, and the events of each sample by time.
func (l *eventList) sort() {
	l.starts = scratch.Zeroed(l.starts, l.samples.Len()+2)
	for i := range l.events {
		l.starts[l.events[i].sample+2]++
	}
	for i := 2; i < len(l.starts); i++ {
		l.starts[i] += l.starts[i-1]
	}
	l.order = slices.Grow(l.order[:0], len(l.events))[:len(l.events)]
	for i := range l.events {
		next := &l.starts[l.events[i].sample+1]
		l.order[*next] = int32(i)
		*next++
	}
	byTime := func(a, b int32) int {
		return cmp.Or(cmp.Compare(l.events[a].time, l.events[b].time), cmp.Compare(a, b))
	}
	longest := 0
	for sample := range l.samples.Len() {
		longest = max(longest, int(l.starts[sample+1]-l.starts[sample]))
		slices.SortFunc(l.order[l.starts[sample]:l.starts[sample+1]], byTime) // Most are sorted, which costs little.
	}
	l.times, l.values = slices.Grow(l.times[:0], longest), slices.Grow(l.values[:0], longest)
}

// write appends all samples to samples. If ones is true, the value of each event is 1, which makes the values counts.
func (l *eventList) write(samples pprofile.SampleSlice, ones bool) {
	samples.EnsureCapacity(l.samples.Len())
	for number := range l.samples.Len() {
		part := l.order[l.starts[number]:l.starts[number+1]]
		l.times, l.values = l.times[:0], l.values[:0]
		for _, i := range part {
			e := &l.events[i]
			l.times = append(l.times, e.time)
			if ones {
				l.values = append(l.values, 1)
			} else {
				l.values = append(l.values, e.value)
			}
		}
		identity, attributes := l.samples.At(number)
		sample := samples.AppendEmpty()
		sample.SetStackIndex(identity.Stack)
		sample.SetLinkIndex(identity.Link)
		if len(attributes) > 0 {
			sample.AttributeIndices().FromRaw(attributes)
		}
		sample.Values().FromRaw(l.values)
		sample.TimestampsUnixNano().FromRaw(l.times)
	}
}

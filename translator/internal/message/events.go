// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package message writes the parts of a message that several translators have: its scope, and samples with events.
package message // import "github.com/otelpprof/otelpprof/translator/internal/message"

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/translator/internal/profileid"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// Event is a value of a sample at a time.
type Event struct {
	// Sample is the number of the sample in [Events.Samples].
	Sample int32
	// Time is in nanoseconds since 1970.
	Time  uint64
	Value int64
}

// EventBytes is the memory of an event in [Events], in bytes, without the growth of the list. SampleBytes is that of a sample.
const (
	EventBytes  = 24 + 4 + 16
	SampleBytes = 4
)

// Events are the samples of a profile with their events, or of several profiles that differ only in the values. After [Events.Add],
// [Events.Sort] must be called before [Events.Write].
type Events struct {
	// Samples has the identities of the samples.
	Samples dictionary.SampleTable

	list []Event
	// order has the indices of the events by sample and time. starts has, for each sample, the start of its events in order.
	order  []int32
	starts []int32
	times  []uint64
	values []int64
}

// Reset removes all samples and events, and makes room for n events.
func (e *Events) Reset(n int) {
	e.Samples.Reset(0)
	e.Clear(n)
}

// Clear removes all events, and makes room for n.
func (e *Events) Clear(n int) { e.list = slices.Grow(e.list[:0], n) }

// Len returns the number of events.
func (e *Events) Len() int { return len(e.list) }

// Add adds an event.
func (e *Events) Add(v Event) { e.list = append(e.list, v) }

// Kept returns the memory that the next profile reuses, in bytes.
func (e *Events) Kept() int {
	return int(e.Samples.Kept()) + scratch.Bytes(e.list) + scratch.Bytes(e.order) + scratch.Bytes(e.starts) + scratch.Bytes(e.times) + scratch.Bytes(e.values)
}

// Sort sorts the events by sample.
func (e *Events) Sort() {
	e.starts = scratch.Zeroed(e.starts, e.Samples.Len()+2)
	for i := range e.list {
		e.starts[e.list[i].Sample+2]++
	}
	longest := int32(0)
	for i := 2; i < len(e.starts); i++ {
		longest = max(longest, e.starts[i])
		e.starts[i] += e.starts[i-1]
	}
	e.order = slices.Grow(e.order[:0], len(e.list))[:len(e.list)]
	for i := range e.list {
		next := &e.starts[e.list[i].Sample+1]
		e.order[*next] = int32(i)
		*next++
	}
	e.times, e.values = slices.Grow(e.times[:0], int(longest)), slices.Grow(e.values[:0], int(longest))
}

// Write appends the samples that have events, with their events in the order of time. With ones, each value is 1.
func (e *Events) Write(to pprofile.SampleSlice, ones bool) {
	to.EnsureCapacity(e.Samples.Len())
	for number := range e.Samples.Len() {
		part := e.order[e.starts[number]:e.starts[number+1]]
		if len(part) == 0 {
			continue
		}
		if !e.gatherTimes(part) {
			slices.SortFunc(part, func(a, b int32) int {
				return cmp.Or(cmp.Compare(e.list[a].Time, e.list[b].Time), cmp.Compare(a, b))
			})
			e.gatherTimes(part)
		}
		e.values = e.values[:0]
		for _, i := range part {
			if ones {
				e.values = append(e.values, 1)
			} else {
				e.values = append(e.values, e.list[i].Value)
			}
		}
		e.writeSample(to.AppendEmpty(), number)
	}
}

// WriteEach appends a sample for each event, in the order in which they were added. It does not need [Events.Sort].
func (e *Events) WriteEach(to pprofile.SampleSlice) {
	to.EnsureCapacity(len(e.list))
	for _, v := range e.list {
		e.times, e.values = append(e.times[:0], v.Time), append(e.values[:0], v.Value)
		e.writeSample(to.AppendEmpty(), int(v.Sample))
	}
}

// gatherTimes sets e.times to the times of these events, and reports whether they ascend.
func (e *Events) gatherTimes(part []int32) (ascend bool) {
	e.times = e.times[:0]
	ascend, last := true, uint64(0)
	for _, i := range part {
		time := e.list[i].Time
		ascend = ascend && time >= last
		last = time
		e.times = append(e.times, time)
	}
	return ascend
}

// writeSample sets the identity of a sample, and e.times and e.values as its events.
func (e *Events) writeSample(sample pprofile.Sample, number int) {
	identity, attributes := e.Samples.At(number)
	sample.SetStackIndex(identity.Stack)
	sample.SetLinkIndex(identity.Link)
	if len(attributes) > 0 {
		sample.AttributeIndices().FromRaw(attributes)
	}
	sample.Values().FromRaw(e.values)
	sample.TimestampsUnixNano().FromRaw(e.times)
}

// AddScope appends a resource, which is copied unless it is the zero Map, and a scope. It returns the scope and the ids of its profiles.
// These depend only on the resource and the payloads.
func AddScope(pd pprofile.Profiles, from pcommon.Map, name, version string, payloads ...[]byte) (pprofile.ScopeProfiles, profileid.IDs) {
	ids := profileid.NewHash()
	for _, payload := range payloads {
		ids.Bytes(payload)
	}
	resource := pd.ResourceProfiles().AppendEmpty()
	resource.SetSchemaUrl(semconv.SchemaURL)
	if from != (pcommon.Map{}) {
		from.CopyTo(resource.Resource().Attributes())
		ids.Attributes(from)
	}
	scope := resource.ScopeProfiles().AppendEmpty()
	scope.SetSchemaUrl(semconv.SchemaURL)
	scope.Scope().SetName(name)
	scope.Scope().SetVersion(version)
	return scope, ids.IDs()
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/message"
)

// timeKey is a label key whose values are times, and their unit in nanoseconds. key is -1 until the key occurs.
type timeKey struct {
	key  int32
	unit int64
}

// events combines samples that have timestamps, by sample type.
type events struct {
	ofType []message.Events
	// start and end are the range of the profile. start is 0 until the first timestamp if the profile has no time.
	start, end uint64
	// first and last are the earliest and the latest timestamp, or 0.
	first, last uint64
}

// maxWidening is the maximum time, in nanoseconds, by which timestamps move the start or the end of a profile. A time
// farther away comes from a wrong clock, and a range with it would be useless.
const maxWidening = uint64(10 * time.Minute)

// accepts reports whether a timestamp is close enough to the range of the profile. A profile without a time starts at its
// first timestamp.
func (e *events) accepts(at uint64) bool {
	if e.start == 0 {
		e.start, e.end = at, at+e.end
	}
	return at+maxWidening >= e.start && (at < e.end || at-e.end < maxWidening)
}

// eventBytes is the memory of an event in addition to its sample: its identity, its timestamp, and the list of events while it grows.
const eventBytes = 160 + message.EventBytes

// extractTimestamp removes the label with the time of the sample from refs, and returns the time in nanoseconds since
// 1970, or 0. A label whose time is too far from the profile stays.
func (t *decoding) extractTimestamp(refs []labelRef) (rest []labelRef, at uint64) {
	for _, time := range t.labels.times {
		l := onlyLabel(refs, time.key)
		if l == nil || l.Str != 0 || l.Num <= 0 {
			continue
		}
		if l.Num > math.MaxInt64/time.unit || !t.events.accepts(uint64(l.Num*time.unit)) {
			t.stats.Repairs.InvalidTimes++
			continue
		}
		refs = slices.DeleteFunc(refs, func(ref labelRef) bool { return ref.label == l })
		return refs, uint64(l.Num * time.unit)
	}
	return refs, 0
}

// addEvent adds a value with a timestamp to the sample with the same identity.
func (t *decoding) addEvent(typ int, stack, link int32, value int64, at uint64) {
	e := &t.events
	bytes := eventBytes + 2*int64(len(t.attributes))*sampleAttributeBytes
	if t.meter.Use(bytes) != nil {
		return
	}
	if e.first == 0 {
		e.first, e.ofType = at, make([]message.Events, len(t.types))
		for i := range e.ofType {
			e.ofType[i].Reset(0)
		}
	}
	e.first, e.last = min(e.first, at), max(e.last, at)
	of := &e.ofType[typ]
	number, _ := of.Samples.Index(dictionary.SampleIdentity{Stack: stack, Link: link}, t.attributes)
	of.Add(message.Event{Sample: int32(number), Time: at, Value: value})
}

// finishEvents writes the samples that have timestamps, extends the time range of the profiles to them, and counts the samples.
func (t *decoding) finishEvents(profiles pprofile.ProfilesSlice) {
	e := &t.events
	if e.first == 0 {
		return
	}
	for i := range e.ofType {
		e.ofType[i].Sort()
		e.ofType[i].Write(t.slices[i], false)
	}
	t.stats.OTLPSamples = 0
	for _, profile := range profiles.All() {
		begin := uint64(profile.Time())
		if begin == 0 {
			begin = e.first
		}
		end := max(begin+profile.DurationNano(), e.last+1)
		begin = min(begin, e.first)
		profile.SetTime(pcommon.Timestamp(begin))
		profile.SetDurationNano(end - begin)
		t.stats.OTLPSamples += profile.Samples().Len()
	}
}

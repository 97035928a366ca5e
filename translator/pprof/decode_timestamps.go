// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// timeKey is a key of the payload whose labels are times, and its unit in nanoseconds. The key is -1 until it is seen.
type timeKey struct {
	key  int32
	unit int64
}

// events combines the samples that have a timestamp. Each sample type has a table of its own.
type events struct {
	ofType []typeEvents
	// first and last are the earliest and the latest timestamp, 0 without any.
	first, last uint64
}

// typeEvents has the samples of one type by their identity.
type typeEvents struct {
	identities dictionary.SampleTable
	samples    []pprofile.Sample
}

// eventBytes is what an event takes beside the sample that it was: its identity, and its timestamp.
const eventBytes = 160

// takeTimestamp takes the label out of refs that is the time of the sample, and returns the time, 0 without one.
func (t *decoding) takeTimestamp(refs []labelRef) (rest []labelRef, at uint64) {
	for _, time := range t.labels.times {
		l := onlyLabel(refs, time.key)
		if l == nil || l.Str != 0 || l.Num <= 0 || l.Num > math.MaxInt64/time.unit {
			continue
		}
		refs = slices.DeleteFunc(refs, func(ref labelRef) bool { return ref.label == l })
		return refs, uint64(l.Num * time.unit)
	}
	return refs, 0
}

// addEvent adds the value of a sample that has a timestamp to the sample of its identity.
func (t *decoding) addEvent(typ int, stack, link int32, value int64, at uint64) {
	e := &t.events
	bytes := eventBytes + 2*int64(len(t.attributes))*sampleAttributeBytes
	t.reserved.need(bytes)
	if t.reserved.err != nil {
		return
	}
	t.reserved.grown += bytes
	if e.first == 0 {
		e.first, e.ofType = at, make([]typeEvents, len(t.types))
	}
	e.first, e.last = min(e.first, at), max(e.last, at)
	of := &e.ofType[typ]
	number, added := of.identities.Index(dictionary.SampleIdentity{Stack: stack, Link: link}, t.attributes)
	if added {
		of.samples = append(of.samples, t.newSample(typ, stack, link))
	}
	of.samples[number].Values().Append(value)
	of.samples[number].TimestampsUnixNano().Append(at)
}

// finishEvents widens the time of the profiles so that it has all timestamps, and counts the samples that were made.
func (t *decoding) finishEvents(profiles pprofile.ProfilesSlice) {
	e := &t.events
	if e.first == 0 {
		return
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

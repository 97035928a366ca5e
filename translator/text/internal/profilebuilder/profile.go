// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Profile is one profile of the message with its samples. Its exported fields can be set until the reader of [Decode]
// returns.
type Profile struct {
	// Name is the value of the attribute profile.name. If it is empty, the name of the source is used.
	Name string
	Type pprof.ValueType
	// PeriodType is the type of Period. Without a type, the profile has no period.
	PeriodType pprof.ValueType
	Period     int64
	// Duration is in nanoseconds. It is ignored if the profile has events.
	Duration uint64

	builder *Builder
	table   dictionary.SampleTable
	// sums has the value of each sample, without events.
	sums   []int64
	events []event
}

// event is one event of a sample. time is in nanoseconds since 1970.
type event struct {
	sample int
	value  int64
	time   uint64
}

// AddProfile adds a profile without samples.
func (b *Builder) AddProfile(p Profile) *Profile {
	b.keep(profileBytes+int64(len(p.Name)), profileTableBytes+int64(len(p.Name)+len(p.Type.Type)+len(p.Type.Unit)))
	if b.options.IncludeOriginalPayload {
		b.keep(int64(len(b.payload)), 0)
	}
	if len(b.profiles) >= pprof.MaxSampleTypes {
		b.Fail(TooLarge("profiles, which count as sample types,", len(b.profiles)+1, pprof.MaxSampleTypes))
	}
	p.builder = b
	p.table.Reset(0)
	if b.err == nil {
		b.profiles = append(b.profiles, &p)
	}
	return &p
}

// Profiles returns the profiles in the order of AddProfile.
func (b *Builder) Profiles() []*Profile { return b.profiles }

// Add adds a value to the sample with this stack and these attributes. The attributes must be sorted.
func (p *Profile) Add(stack int32, attributes []int32, value int64) {
	sample, ok := p.sample(stack, attributes)
	if !ok {
		return
	}
	sum := p.sums[sample] + value
	if value > 0 && sum < p.sums[sample] {
		p.builder.Fail(Malformed("the values of a stack are more than %d together", int64(math.MaxInt64)))
		return
	}
	p.sums[sample] = sum
}

// AddEvent adds an event. time is in nanoseconds since 1970. A profile must have only events, or none.
func (p *Profile) AddEvent(stack int32, attributes []int32, value int64, time uint64) {
	p.builder.keep(eventBytes, eventTableBytes)
	if sample, ok := p.sample(stack, attributes); ok {
		p.events = append(p.events, event{sample, value, time})
	}
}

// sample returns the number of a sample, which it adds if it is new. ok is false after an error.
func (p *Profile) sample(stack int32, attributes []int32) (number int, ok bool) {
	b := p.builder
	message, table := sampleBytes+attributeBytes*int64(len(attributes)), sampleTableBytes+attributeTableBytes*int64(len(attributes))
	b.Reserve(message + table)
	if b.err != nil {
		return 0, false
	}
	b.stats.Samples++
	number, added := p.table.Index(dictionary.SampleIdentity{Stack: stack}, attributes)
	if added {
		b.keep(message, table)
		p.sums = append(p.sums, 0)
		if b.stats.OTLPSamples++; b.stats.OTLPSamples > b.options.Limits.Samples {
			b.Fail(TooLarge("samples", b.stats.OTLPSamples, b.options.Limits.Samples))
		}
	}
	return number, b.err == nil
}

// sortEvents sorts the events by sample, then by time.
func (p *Profile) sortEvents() {
	slices.SortStableFunc(p.events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.sample, b.sample), cmp.Compare(a.time, b.time))
	})
}

// span returns the time range of the events, or the duration of a profile without events.
func (p *Profile) span() (start, duration uint64) {
	if len(p.events) == 0 {
		return 0, p.Duration
	}
	start, end := uint64(math.MaxUint64), uint64(0)
	for i := range p.events {
		start, end = min(start, p.events[i].time), max(end, p.events[i].time)
	}
	return start, end - start + 1
}

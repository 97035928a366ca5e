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

// Profile is one profile of the message, and its samples so far. Its exported fields may be set until [Builder.Finish].
type Profile struct {
	// Name becomes the attribute profile.name, unless it is empty.
	Name string
	Type pprof.ValueType
	// PeriodType is that of Period. Without one, Period is 0.
	PeriodType pprof.ValueType
	Period     int64
	// Duration is in nanoseconds. Events with times override it.
	Duration uint64

	builder *Builder
	table   dictionary.SampleTable
	// sums are the values of the samples, those of events left out.
	sums   []int64
	events []event
}

// event is one event of a sample, at its time.
type event struct {
	sample int
	value  int64
	time   uint64
}

// AddProfile adds a profile without samples.
func (b *Builder) AddProfile(p Profile) *Profile {
	b.hold(profileBytes+int64(len(p.Name)), profileTableBytes+int64(len(p.Name)+len(p.Type.Type)+len(p.Type.Unit)))
	if b.options.PayloadFormat != "" {
		b.hold(int64(len(b.payload)), 0)
	}
	if limit := b.limits.SampleTypes; len(b.profiles) >= limit {
		b.Fail(TooLarge("profiles, which count as sample types,", len(b.profiles)+1, limit))
	}
	p.builder = b
	p.table.Reset(0)
	if b.err == nil {
		b.profiles = append(b.profiles, &p)
	}
	return &p
}

// Profiles returns the profiles that were added.
func (b *Builder) Profiles() []*Profile { return b.profiles }

// Add adds a value to the sample of this stack and these sorted attributes.
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

// AddEvent adds an event at a time, in nanoseconds since 1970. A profile has either only events, or none.
func (p *Profile) AddEvent(stack int32, attributes []int32, value int64, time uint64) {
	p.builder.hold(eventBytes, eventTableBytes)
	if sample, ok := p.sample(stack, attributes); ok {
		p.events = append(p.events, event{sample, value, time})
	}
}

// sample returns the number of a sample.
func (p *Profile) sample(stack int32, attributes []int32) (number int, ok bool) {
	b := p.builder
	message, table := sampleBytes+attributeBytes*int64(len(attributes)), sampleTableBytes+attributeTableBytes*int64(len(attributes))
	b.Need(message + table)
	if b.err != nil {
		return 0, false
	}
	b.stats.Samples++
	number, added := p.table.Index(dictionary.SampleIdentity{Stack: stack}, attributes)
	if added {
		b.reserved.message += message
		b.reserved.working += table
		p.sums = append(p.sums, 0)
		if b.stats.OTLPSamples++; b.stats.OTLPSamples > b.limits.Samples {
			b.Fail(TooLarge("samples", b.stats.OTLPSamples, b.limits.Samples))
		}
	}
	return number, b.err == nil
}

// sortEvents puts the events of each sample together, in the order of their times.
func (p *Profile) sortEvents() {
	slices.SortStableFunc(p.events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.sample, b.sample), cmp.Compare(a.time, b.time))
	})
}

// span returns the time of the first event, and the duration that covers the last.
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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/message"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Profile is one profile of the message with its samples. Its exported fields can be set until the reader of [Decode]
// returns.
type Profile struct {
	// Name is the value of the attribute profile.name. It may refer to memory of the payload. If it is empty, the name of the source is used.
	Name []byte
	Type pprof.ValueType
	// PeriodType is the type of Period. Without a type, the profile has no period.
	PeriodType pprof.ValueType
	Period     int64
	// Start is in nanoseconds since 1970, or 0 if it is not known. Duration is in nanoseconds. Events before and after that widen the
	// range. Without a start, the events alone determine it.
	Start, Duration uint64

	builder *Builder
	// events has the samples, and their events if the profile has any. sums has the value of each sample without events.
	events message.Events
	sums   []int64
	// first and last are the earliest and the latest time of an event.
	first, last uint64
}

// FirstWallClock is the year 2000, in nanoseconds since 1970. Times before it count from the boot of the machine: it would need an uptime
// of thirty years to reach it. Times from then on are wall-clock times.
const FirstWallClock = 946_684_800e9

// SampleType returns the first type of the source if it has the same unit, else the type itself.
func (b *Builder) SampleType(t pprof.ValueType) pprof.ValueType {
	if types := b.src.SampleTypes; len(types) > 0 && types[0].Unit == t.Unit {
		return types[0]
	}
	return t
}

// AddProfile adds a profile without samples.
func (b *Builder) AddProfile(p Profile) *Profile {
	b.Use(profileBytes + int64(2*len(p.Name)+len(p.Type.Type)+len(p.Type.Unit)))
	if b.options.IncludeOriginalPayload {
		b.Use(int64(len(b.payload)))
	}
	b.checkLimit("bytes of a string", len(p.Name), pprof.MaxStringBytes)
	b.checkLimit("profiles, which count as sample types,", len(b.profiles)+1, pprof.MaxSampleTypes)
	p.builder = b
	p.events.Reset(0)
	p.first = math.MaxUint64
	if b.err == nil {
		b.profiles = append(b.profiles, &p)
	}
	return &p
}

// Add adds a value to the sample with this stack and these attributes, which must be sorted. time is in nanoseconds since 1970, or 0 if
// it is not known. All values of a profile have times, or none has.
func (p *Profile) Add(stack int32, attributes []int32, value int64, time uint64) {
	if time != 0 {
		p.builder.Use(eventBytes)
	}
	sample, ok := p.sample(stack, attributes)
	if !ok {
		return
	}
	if time != 0 {
		p.events.Add(message.Event{Sample: int32(sample), Time: time, Value: value})
		p.first, p.last = min(p.first, time), max(p.last, time)
		return
	}
	sum := p.sums[sample] + value
	if value > 0 && sum < p.sums[sample] {
		p.builder.Failf("the values of a stack are more than %d together", int64(math.MaxInt64))
	}
	p.sums[sample] = sum
}

// sample returns the number of a sample, which it adds if it is new. ok is false after an error.
func (p *Profile) sample(stack int32, attributes []int32) (number int, ok bool) {
	b := p.builder
	bytes := sampleBytes + attributeBytes*int64(len(attributes))
	b.need(bytes)
	if b.err != nil {
		return 0, false
	}
	b.stats.Samples++
	number, added := p.events.Samples.Index(dictionary.SampleIdentity{Stack: stack}, attributes)
	if added {
		b.Use(bytes)
		p.sums = append(p.sums, 0)
		b.stats.OTLPSamples++
		b.checkLimit("samples", b.stats.OTLPSamples, b.options.Limits.Samples)
	}
	return number, b.err == nil
}

// CheckSamples limits all samples, before the next one is added. Without it, equal samples count once.
func (b *Builder) CheckSamples() {
	b.checkLimit("samples", b.stats.Samples+1, b.options.Limits.Samples)
}

// span returns the time range.
func (p *Profile) span() (start, duration uint64) {
	if p.events.Len() == 0 {
		return p.Start, p.Duration
	}
	start, end := p.first, p.last+1
	if p.Start > 0 {
		start, end = min(start, p.Start), max(end, p.Start+p.Duration)
	}
	return start, end - start
}

// finish returns the message: one resource, one scope, and the profiles in the order of AddProfile. Equal payloads with
// equal sources get equal profile ids. On an error, the message is empty.
func (b *Builder) finish() (pprofile.Profiles, pprof.DecodeStats, error) {
	pd := pprofile.NewProfiles()
	b.need(0)
	if b.err == nil {
		b.write(pd)
	}
	if b.err != nil {
		return pprofile.Profiles{}, b.statsOfRefused(), b.err
	}
	b.dict.WriteTo(pd.Dictionary())
	b.stats.MessageBytes = baseBytes + dictionary.MessageMemory(pd)
	return pd, b.stats, nil
}

func (b *Builder) write(pd pprofile.Profiles) {
	scope, ids := message.AddScope(pd, b.src.Resource, b.src.ScopeName, b.src.ScopeVersion, b.payload)
	scope.Profiles().EnsureCapacity(len(b.profiles))
	for _, p := range b.profiles {
		profile := scope.Profiles().AppendEmpty()
		profile.SetProfileID(ids.Next(p.Type.Type, p.Type.Unit))
		b.describe(profile, p)
		p.writeSamples(profile.Samples())
		if b.err != nil {
			return
		}
	}
}

func (b *Builder) describe(profile pprofile.Profile, p *Profile) {
	set := func(to pprofile.ValueType, v pprof.ValueType) {
		to.SetTypeStrindex(b.addString([]byte(v.Type)))
		to.SetUnitStrindex(b.addString([]byte(v.Unit)))
	}
	set(profile.SampleType(), p.Type)
	if p.PeriodType != (pprof.ValueType{}) {
		set(profile.PeriodType(), p.PeriodType)
		profile.SetPeriod(p.Period)
	}
	start, duration := p.span()
	profile.SetTime(pcommon.Timestamp(start))
	profile.SetDurationNano(duration)
	name := p.Name
	if len(name) == 0 {
		name = []byte(b.src.ProfileName)
	}
	if len(name) > 0 {
		profile.AttributeIndices().Append(b.StringAttribute(semconv.ProfileName, name))
	}
	if b.options.IncludeOriginalPayload {
		profile.SetOriginalPayloadFormat(b.format)
		profile.OriginalPayload().FromRaw(b.payload)
	}
}

func (p *Profile) writeSamples(samples pprofile.SampleSlice) {
	table := &p.events.Samples
	if p.events.Len() > 0 {
		p.builder.Advance(sampleBytes * int64(table.Len()))
		p.events.Sort()
		p.events.Write(samples, false)
		return
	}
	samples.EnsureCapacity(table.Len())
	for i, sum := range p.sums {
		if p.builder.Advance(sampleBytes); p.builder.err != nil {
			return
		}
		identity, attributes := table.At(i)
		sample := samples.AppendEmpty()
		sample.SetStackIndex(identity.Stack)
		if len(attributes) > 0 {
			sample.AttributeIndices().FromRaw(attributes)
		}
		sample.Values().FromRaw([]int64{sum})
	}
}

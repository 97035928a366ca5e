// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/internal/message"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

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
	b.stats.MessageBytes = baseBytes + b.message + b.dict.MessageBytes()
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

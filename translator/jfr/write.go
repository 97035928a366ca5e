// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/internal/message"
	"github.com/otelpprof/otelpprof/translator/internal/profileid"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// originalPayloadFormat is the original_payload_format of the profiles.
const originalPayloadFormat = "jfr"

// write returns the message. payload is that of Decode: the profile ids depend on it.
func (t *decoding) write(payload []byte) (pprofile.Profiles, error) {
	pd := pprofile.NewProfiles()
	scope, ids := message.AddScope(pd, t.src.Resource, t.src.ScopeName, t.src.ScopeVersion, payload, t.src.Labels)
	size := int64(messageBytes)
	for k := range numKinds {
		list := &t.lists[k]
		if list.Len() == 0 {
			continue
		}
		list.Sort()
		columns := k.columns()
		t.addProfile(scope.Profiles(), k, t.valueType(k), false, &ids)
		if columns > 1 {
			t.addProfile(scope.Profiles(), k, kinds[k].count, true, &ids)
		}
		t.stats.OTLPSamples += columns * list.Samples.Len()
		size += int64(columns) * (profileBytes + sampleBytes*int64(list.Samples.Len()) + messageEventBytes*int64(list.Len()))
	}
	if t.opts.IncludeOriginalPayload {
		size += t.addOriginal(scope.Profiles(), payload)
	}
	if err := t.meter.Err(); err != nil {
		return pprofile.Profiles{}, err
	}
	t.dict.WriteTo(pd.Dictionary())
	t.stats.MessageBytes = size + t.textBytes + t.dict.MessageBytes()
	return pd, nil
}

// addOriginal adds the payload to each profile, and returns the memory of the copies.
func (t *decoding) addOriginal(profiles pprofile.ProfilesSlice, payload []byte) (bytes int64) {
	bytes = int64(profiles.Len()) * int64(len(payload))
	if t.meter.Use(bytes) != nil {
		return 0
	}
	for _, profile := range profiles.All() {
		profile.SetOriginalPayloadFormat(originalPayloadFormat)
		profile.OriginalPayload().FromRaw(payload)
	}
	return bytes
}

// valueType returns the type of the values of a kind. If the period is not known, the values are numbers of samples.
func (t *decoding) valueType(k kind) valueType {
	if (k == kindCPU || k == kindWall) && t.periods[k] == 0 {
		return samplesType
	}
	return kinds[k].value
}

// addProfile appends a profile with values of type v. With ones, each value is 1. All profiles have the time range of the recording.
func (t *decoding) addProfile(profiles pprofile.ProfilesSlice, k kind, v valueType, ones bool, ids *profileid.IDs) {
	profile := profiles.AppendEmpty()
	profile.SetProfileID(ids.Next(v.name, v.unit))
	profile.SampleType().SetTypeStrindex(t.dict.String(v.name))
	profile.SampleType().SetUnitStrindex(t.dict.String(v.unit))
	if period := kinds[k].period; period != noType && v != samplesType {
		profile.PeriodType().SetTypeStrindex(t.dict.String(period.name))
		profile.PeriodType().SetUnitStrindex(t.dict.String(period.unit))
		profile.SetPeriod(int64(t.periods[k]))
	}
	profile.SetTime(pcommon.Timestamp(t.start))
	profile.SetDurationNano(t.end - t.start)
	name := t.dict.StringAttribute(t.dict.String(semconv.ProfileName), kinds[k].profile)
	profile.AttributeIndices().FromRaw([]int32{name})
	t.lists[k].Write(profile.Samples(), ones)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Split parts pd into messages of at most maxSamples samples and maxBytes bytes of protobuf, each with only the entries
// that it needs; 0 is no limit. One sample is the smallest part, so that a message can stay above maxBytes. A profile
// whose samples are parted keeps its id and its original payload in the first part, and gets ids made of it in the
// others. pd must come from Deduplicate; unless it is returned as the only part, its samples are moved and it must not be used any more.
func Split(pd pprofile.Profiles, maxSamples, maxBytes int) []pprofile.Profiles {
	n := pd.SampleCount()
	parts := 1
	if maxSamples > 0 {
		parts = (n + maxSamples - 1) / maxSamples
	}
	if maxBytes > 0 {
		size := (&pprofile.ProtoMarshaler{}).ProfilesSize(pd)
		parts = max(parts, (size+maxBytes-1)/maxBytes)
	}
	if parts = min(parts, n); parts <= 1 {
		return []pprofile.Profiles{pd}
	}
	s := splitter{source: pd, mover: newMover()}
	var result []pprofile.Profiles
	shares := min(parts, maxShares)
	for i := range shares {
		from, to := share(parts, i, shares), share(parts, i+1, shares)
		part := s.part(share(n, from, parts), share(n, to, parts))
		// What the parts have in common makes them larger than their share.
		result = append(result, Split(part, maxSamples, maxBytes)...)
	}
	return result
}

// maxShares is how many parts are made at a time. Each costs a look at the whole message, so that what becomes many
// parts is parted again and again instead.
const maxShares = 16

// share returns where part i of n things begins.
func share(n, i, parts int) int { return int(int64(n) * int64(i) / int64(parts)) }

type splitter struct {
	mover
	source   pprofile.Profiles
	from, to int
}

// part returns a message with samples from to to-1, counted through the whole message. A profile without samples goes
// with the sample before it.
func (s *splitter) part(from, to int) pprofile.Profiles {
	s.from, s.to = from, to
	s.begin(s.source.Dictionary())
	part := pprofile.NewProfiles()
	position := 0
	for _, resource := range s.source.ResourceProfiles().All() {
		var toResource pprofile.ResourceProfiles
		hasResource := false
		for _, scope := range resource.ScopeProfiles().All() {
			var toScope pprofile.ScopeProfiles
			hasScope := false
			for _, profile := range scope.Profiles().All() {
				first := position
				position += profile.Samples().Len()
				if !s.takes(first, position) {
					continue
				}
				if !hasResource {
					toResource, hasResource = part.ResourceProfiles().AppendEmpty(), true
					resource.Resource().CopyTo(toResource.Resource())
					toResource.SetSchemaUrl(resource.SchemaUrl())
				}
				if !hasScope {
					toScope, hasScope = toResource.ScopeProfiles().AppendEmpty(), true
					scope.Scope().CopyTo(toScope.Scope())
					toScope.SetSchemaUrl(scope.SchemaUrl())
				}
				s.moveProfile(toScope.Profiles().AppendEmpty(), profile, first)
			}
		}
	}
	s.builder.WriteTo(part.Dictionary())
	return part
}

// takes tells whether the part has a share of the profile with samples first to end-1.
func (s *splitter) takes(first, end int) bool {
	if first == end {
		return s.from <= max(first-1, 0) && max(first-1, 0) < s.to
	}
	return first < s.to && s.from < end
}

// moveProfile moves the part's share of the profile's samples. The profile is canonical, so nothing can fail.
func (s *splitter) moveProfile(to, profile pprofile.Profile, first int) {
	samples := profile.Samples()
	begin, end := max(s.from-first, 0), min(s.to-first, samples.Len())
	s.copyHeader(to, profile)
	id := profile.ProfileID()
	if begin > 0 {
		id = deriveID(id, binary.BigEndian.AppendUint64(nil, uint64(begin)))
	} else {
		to.SetOriginalPayloadFormat(profile.OriginalPayloadFormat())
		profile.OriginalPayload().MoveTo(to.OriginalPayload())
	}
	to.SetProfileID(id)
	to.Samples().EnsureCapacity(max(end-begin, 0))
	for i := begin; i < end; i++ {
		sample := to.Samples().AppendEmpty()
		samples.At(i).MoveTo(sample)
		s.rewriteSample(sample)
	}
}

// copyHeader copies all but the samples.
func (s *splitter) copyHeader(to, profile pprofile.Profile) {
	profile.SampleType().CopyTo(to.SampleType())
	profile.PeriodType().CopyTo(to.PeriodType())
	to.SetPeriod(profile.Period())
	to.SetTime(profile.Time())
	to.SetDurationNano(profile.DurationNano())
	to.SetDroppedAttributesCount(profile.DroppedAttributesCount())
	profile.AttributeIndices().CopyTo(to.AttributeIndices())
	s.rewriteHeader(to)
}

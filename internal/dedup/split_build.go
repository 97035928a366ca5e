// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// build makes a message of the pieces.
func (s *splitter) build() pprofile.Profiles {
	part := pprofile.NewProfiles()
	s.write(part.Dictionary())
	var toResource pprofile.ResourceProfiles
	var toScope pprofile.ScopeProfiles
	last := piece{resource: -1}
	for _, at := range s.pieces {
		resource := s.pd.ResourceProfiles().At(at.resource)
		scope := resource.ScopeProfiles().At(at.scope)
		if at.resource != last.resource {
			toResource = part.ResourceProfiles().AppendEmpty()
			resource.Resource().CopyTo(toResource.Resource())
			toResource.SetSchemaUrl(resource.SchemaUrl())
		}
		if at.resource != last.resource || at.scope != last.scope {
			toScope = toResource.ScopeProfiles().AppendEmpty()
			scope.Scope().CopyTo(toScope.Scope())
			toScope.SetSchemaUrl(scope.SchemaUrl())
		}
		s.movePiece(toScope.Profiles().AppendEmpty(), scope.Profiles().At(at.profile), at)
		last = at
	}
	return part
}

// movePiece moves the samples of a piece.
func (s *splitter) movePiece(to, profile pprofile.Profile, at piece) {
	copyHeader(to, profile)
	s.rename.Header(to)
	id := profile.ProfileID()
	if at.end-at.begin < profile.Samples().Len() {
		// A profile that is sent again can be split elsewhere: parts of other samples must not look like repeats.
		id = deriveID(id, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(at.begin)), uint64(at.end)))
	}
	to.SetProfileID(id)
	if at.begin == 0 {
		to.SetOriginalPayloadFormat(profile.OriginalPayloadFormat())
		profile.OriginalPayload().MoveTo(to.OriginalPayload())
	}
	to.Samples().EnsureCapacity(at.end - at.begin)
	for i := at.begin; i < at.end; i++ {
		sample := to.Samples().AppendEmpty()
		profile.Samples().At(i).MoveTo(sample)
		s.rename.Sample(sample)
	}
}

// copyHeader copies all but the samples, the id and the original payload.
func copyHeader(to, profile pprofile.Profile) {
	profile.SampleType().CopyTo(to.SampleType())
	profile.PeriodType().CopyTo(to.PeriodType())
	to.SetPeriod(profile.Period())
	to.SetTime(profile.Time())
	to.SetDurationNano(profile.DurationNano())
	to.SetDroppedAttributesCount(profile.DroppedAttributesCount())
	profile.AttributeIndices().CopyTo(to.AttributeIndices())
}

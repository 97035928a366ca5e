// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"crypto/sha256"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/walk"
)

// MergeProfiles joins profiles of one scope with equal type, period and attributes that cover a span of time, if delta returns for
// their type and unit that values can be summed. pd must come from Deduplicate. If profiles were merged, Deduplicate it again, so
// that their samples are combined. The time covers all merged profiles. The id is made of theirs, if all have one. The original
// payload is removed.
func MergeProfiles(pd pprofile.Profiles, delta func(typ, unit string) bool) (merged int) {
	for _, scope := range walk.Scopes(pd) {
		merged += mergeScope(pd.Dictionary(), scope.Profiles(), delta)
	}
	return merged
}

// mergeKey is what profiles that become one have in common. In a canonical message equal values have equal indices.
type mergeKey struct {
	sampleType, sampleUnit int32
	periodType, periodUnit int32
	period                 int64
	attributes             string
}

func mergeScope(dict pprofile.ProfilesDictionary, profiles pprofile.ProfilesSlice, delta func(typ, unit string) bool) (merged int) {
	texts, isMain := dict.StringTable(), attributesOf(dict, mainMapping)
	first := map[mergeKey]pprofile.Profile{}
	profiles.RemoveIf(func(profile pprofile.Profile) bool {
		key := mergeKey{
			sampleType: profile.SampleType().TypeStrindex(),
			sampleUnit: profile.SampleType().UnitStrindex(),
			periodType: profile.PeriodType().TypeStrindex(),
			periodUnit: profile.PeriodType().UnitStrindex(),
			period:     profile.Period(),
			attributes: listKey(profile.AttributeIndices(), isMain),
		}
		if isSnapshot(profile) || !delta(texts.At(int(key.sampleType)), texts.At(int(key.sampleUnit))) {
			return false
		}
		to, found := first[key]
		if !found {
			first[key] = profile
			return false
		}
		mergeInto(to, profile)
		addMainMapping(to, profile, isMain)
		merged++
		return true
	})
	return merged
}

// isSnapshot tells whether a profile says what there is at a time, or what has been since its process began, as the heap
// profiles of Go do. Only one that covers a span of time can be summed with that of another span.
func isSnapshot(profile pprofile.Profile) bool {
	return profile.Time() == 0 || profile.DurationNano() == 0
}

// listKey returns a list as a key, without the entries that are left out.
func listKey(list pcommon.Int32Slice, leftOut []bool) string {
	key := make([]byte, 0, 4*list.Len())
	for _, i := range list.All() {
		if !leftOut[i] {
			key = append(key, byte(i>>24), byte(i>>16), byte(i>>8), byte(i))
		}
	}
	return string(key)
}

// mainMapping is an attribute that the profiles of one program have or lack, as their samples reach its mappings.
const mainMapping = "pprof.profile.main_mapping"

// addMainMapping gives a profile the attribute of another one, if it has none.
func addMainMapping(to, from pprofile.Profile, isMain []bool) {
	if hasAny(to.AttributeIndices(), isMain) {
		return
	}
	for _, i := range from.AttributeIndices().All() {
		if isMain[i] {
			to.AttributeIndices().Append(i)
		}
	}
}

func mergeInto(to, from pprofile.Profile) {
	begin := min(to.Time(), from.Time())
	end := max(endOf(to), endOf(from))
	to.SetTime(begin)
	to.SetDurationNano(end - uint64(begin))
	to.SetDroppedAttributesCount(to.DroppedAttributesCount() + from.DroppedAttributesCount())
	if id := from.ProfileID(); id.IsEmpty() {
		to.SetProfileID(id)
	} else {
		to.SetProfileID(deriveID(to.ProfileID(), id[:]))
	}
	to.OriginalPayload().FromRaw(nil)
	to.SetOriginalPayloadFormat("")
	from.Samples().MoveAndAppendTo(to.Samples())
}

func endOf(profile pprofile.Profile) uint64 {
	begin := uint64(profile.Time())
	return begin + min(profile.DurationNano(), math.MaxUint64-begin)
}

// deriveID makes an id that is the same for the same id and content. Without an id there is none: one that is made of
// nothing would stand for different profiles.
func deriveID(id pprofile.ProfileID, content []byte) pprofile.ProfileID {
	if id.IsEmpty() {
		return id
	}
	sum := sha256.Sum256(append(id[:], content...))
	return pprofile.ProfileID(sum[:16])
}

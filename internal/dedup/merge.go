// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"crypto/sha256"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// MergeProfiles merges profiles of one scope with equal type, period and attributes that have a duration, if delta
// returns true for their type and unit: then their values can be summed. pd must come from Deduplicate. If profiles were
// merged, deduplicate it again to combine their samples. The time range covers all merged profiles. The id is derived
// from their ids, if all have one. MergeProfiles removes the original payload.
func MergeProfiles(pd pprofile.Profiles, delta func(typ, unit string) bool) (merged int) {
	texts, isMain := pd.Dictionary().StringTable(), attributesOf(pd.Dictionary(), mainMapping)
	for _, scope := range walk.Scopes(pd) {
		first := map[mergeKey]pprofile.Profile{}
		scope.Profiles().RemoveIf(func(profile pprofile.Profile) bool {
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
	}
	return merged
}

// mergeKey has what profiles to merge have in common. In a canonical message, equal values have equal indices.
type mergeKey struct {
	sampleType, sampleUnit int32
	periodType, periodUnit int32
	period                 int64
	attributes             string
}

// isSnapshot reports whether a profile has values at a point in time, or since the start of its process, such as heap
// profiles of Go. Only values of a time range can be summed with those of another range.
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

// mainMapping is an attribute that only some profiles of a program have: it depends on the mappings that their samples
// reach.
const mainMapping = "pprof.profile.main_mapping"

// addMainMapping copies the attribute from another profile, if a profile has none.
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

// deriveID derives an id from an id and content. For an empty id it returns an empty one: otherwise different profiles would
// get equal ids.
func deriveID(id pprofile.ProfileID, content []byte) pprofile.ProfileID {
	if id.IsEmpty() {
		return id
	}
	sum := sha256.Sum256(append(id[:], content...))
	return pprofile.ProfileID(sum[:16])
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// profileComment is an attribute that only the first profile of a capture has. It applies to all of them.
const profileComment = "pprof.profile.comment"

// dropEmptyProfiles drops profiles without samples, for which strict readers refuse the message. It moves their comments
// to another profile of the capture.
func (w *work) dropEmptyProfiles() {
	if !w.opts.DropEmptyProfiles || !w.hasEmptyProfiles() {
		return
	}
	w.makeOwn()
	isComment := attributesOf(w.pd.Dictionary(), profileComment)
	for _, scope := range walk.Scopes(w.pd) {
		w.keepComments(scope.Profiles(), isComment)
	}
	walk.RemoveProfiles(w.pd, func(profile pprofile.Profile) bool {
		if !w.isEmpty(profile) {
			return false
		}
		w.stats.EmptyProfiles++
		w.stats.ZeroSamples += profile.Samples().Len()
		return true
	})
}

func (w *work) hasEmptyProfiles() bool {
	for profile := range walk.Profiles(w.pd) {
		if w.isEmpty(profile) {
			return true
		}
	}
	return false
}

// isEmpty reports whether no sample of a profile is kept.
func (w *work) isEmpty(profile pprofile.Profile) bool {
	for _, sample := range profile.Samples().All() {
		if !w.isZero(sample) {
			return false
		}
	}
	return true
}

// capture has what the profiles of one capture have in common.
type capture struct {
	time                   pcommon.Timestamp
	duration               uint64
	periodType, periodUnit int32
	period                 int64
}

func captureOf(profile pprofile.Profile) capture {
	return capture{
		profile.Time(), profile.DurationNano(),
		profile.PeriodType().TypeStrindex(), profile.PeriodType().UnitStrindex(), profile.Period(),
	}
}

// keepComments moves the comments of empty profiles to the first other profile of their capture that has none.
func (w *work) keepComments(profiles pprofile.ProfilesSlice, isComment []bool) {
	others := map[capture]pprofile.Profile{}
	for _, profile := range profiles.All() {
		if _, found := others[captureOf(profile)]; !found && !w.isEmpty(profile) && !hasAny(profile.AttributeIndices(), isComment) {
			others[captureOf(profile)] = profile
		}
	}
	for _, profile := range profiles.All() {
		other, found := others[captureOf(profile)]
		if !found || !w.isEmpty(profile) {
			continue
		}
		for _, i := range profile.AttributeIndices().All() {
			if i >= 0 && int(i) < len(isComment) && isComment[i] {
				other.AttributeIndices().Append(i)
				delete(others, captureOf(profile))
				break
			}
		}
	}
}

// attributesOf reports for each attribute whether it has one of these keys.
func attributesOf(dict pprofile.ProfilesDictionary, keys ...string) []bool {
	texts, is := dict.StringTable(), make([]bool, dict.AttributeTable().Len())
	for i, attribute := range dict.AttributeTable().All() {
		key := attribute.KeyStrindex()
		is[i] = i > 0 && key > 0 && int(key) < texts.Len() && slices.Contains(keys, texts.At(int(key)))
	}
	return is
}

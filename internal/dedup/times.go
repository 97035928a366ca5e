// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/walk"
)

// maxWidening is the maximum time, in nanoseconds, by which the start or the end of a profile moves. A timestamp farther away comes
// from a wrong clock, and a range with it would be useless.
const maxWidening = uint64(time.Hour)

// timesChange reports whether widenTime would change any profile.
func (w *work) timesChange() bool {
	if !w.opts.WidenTimes {
		return false
	}
	for profile := range walk.Profiles(w.pd) {
		if _, _, changes := widened(profile); changes {
			return true
		}
	}
	return false
}

// widenTime widens the time range of a profile to include all timestamps of its samples.
func (w *work) widenTime(profile pprofile.Profile) {
	if !w.opts.WidenTimes {
		return
	}
	if start, duration, changes := widened(profile); changes {
		profile.SetTime(pcommon.Timestamp(start))
		profile.SetDurationNano(duration)
		w.stats.WidenedProfiles++
	}
}

// widened returns the smallest time range that includes the range of the profile and all its timestamps, in nanoseconds, and whether
// it differs from that of the profile. It does not change a range that would exceed maxWidening or overflow. The end is not part of the
// range (profiles.proto, Sample.timestamps_unix_nano).
func widened(profile pprofile.Profile) (start, duration uint64, changes bool) {
	first, last := uint64(math.MaxUint64), uint64(0)
	for _, sample := range profile.Samples().All() {
		for _, timestamp := range sample.TimestampsUnixNano().All() {
			first, last = min(first, timestamp), max(last, timestamp)
		}
	}
	start, duration = uint64(profile.Time()), profile.DurationNano()
	if first > last || first >= start && last-start < duration {
		return start, duration, false
	}
	if start == 0 {
		start = first // The profile has no time.
	}
	end := start + duration
	if end < start || last == math.MaxUint64 {
		return start, duration, false
	}
	if first < start && start-first > maxWidening || last >= end && last-end >= maxWidening {
		return start, duration, false
	}
	start, end = min(start, first), max(end, last+1)
	return start, end - start, true
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// maxWidening limits how far the start or the end of a profile moves, in nanoseconds. A timestamp beyond it comes from a
// wrong clock, and a range with it would be useless.
const maxWidening = uint64(10 * time.Minute)

// timesKey is a capture in a scope, which is numbered in the order of the message.
type timesKey struct {
	scope   int
	capture capture
}

// timeRange is the time from start to end, without end.
type timeRange struct{ start, end uint64 }

// planTimes finds the captures whose time changes, and reports whether any profile changes. The profiles of a capture
// keep a common time, by which an encoder finds them.
func (w *work) planTimes() (changes bool) {
	w.times = nil
	if !w.opts.WidenTimes || w.opts.Shape == ShapeTotal { // The result has no timestamps.
		return false
	}
	number := 0
	for _, scope := range walk.Scopes(w.pd) {
		for _, profile := range scope.Profiles().All() {
			if start, duration, outside := widened(profile); outside {
				changes = true
				w.planTime(timesKey{number, captureOf(profile)}, timeRange{start, start + duration})
			}
		}
		number++
	}
	return changes
}

func (w *work) planTime(key timesKey, wanted timeRange) {
	if key.capture.time == 0 {
		return // Profiles without a time are not known to be of one capture.
	}
	if planned, found := w.times[key]; found {
		wanted = timeRange{min(planned.start, wanted.start), max(planned.end, wanted.end)}
	}
	scratch.Store(&w.times, key, wanted)
}

// widenTime sets the time of a profile to the one planned for its capture. A profile without a time gets the time of its
// timestamps.
func (w *work) widenTime(scope int, profile pprofile.Profile) {
	if !w.opts.WidenTimes {
		return
	}
	start, duration, changes := uint64(0), uint64(0), false
	if profile.Time() == 0 {
		start, duration, changes = widened(profile)
	} else if planned, found := w.times[timesKey{scope, captureOf(profile)}]; found {
		start, duration = planned.start, planned.end-planned.start
		changes = start != uint64(profile.Time()) || duration != profile.DurationNano()
	}
	if changes {
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

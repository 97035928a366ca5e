// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// times is the time range in a request. It does not depend on the time of arrival: a retry gets the same ids.
type times struct {
	start time.Time
	end   time.Time
}

// setMissing sets the time of profiles without a time, or with one in 1970: some old clients write microseconds instead
// of nanoseconds, also as the duration. Equal payloads with different times are different captures, so the time becomes a part of the id.
func (t times) setMissing(profiles pprofile.Profiles) {
	if t.start.IsZero() {
		return
	}
	const oneYear = pcommon.Timestamp(365 * 24 * time.Hour)
	start, duration := pcommon.NewTimestampFromTime(t.start), uint64(max(0, t.end.Sub(t.start)))
	for profile := range walk.Profiles(profiles) {
		if profile.Time() > oneYear {
			continue
		}
		if profile.DurationNano() == 0 || profile.Time() != 0 && duration > 0 {
			profile.SetDurationNano(duration)
		}
		profile.SetTime(start)
		profile.SetProfileID(idAt(profile.ProfileID(), start, duration))
	}
}

// idAt returns an id that is the same for the same id and times.
func idAt(id pprofile.ProfileID, start pcommon.Timestamp, duration uint64) pprofile.ProfileID {
	content := binary.BigEndian.AppendUint64(id[:], uint64(start))
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(content, duration))
	return pprofile.ProfileID(sum[:16])
}

// arrivalClock returns the times of arrival of payloads. They ascend strictly: a batch joins profiles with equal times to one pprof.
type arrivalClock struct{ last atomic.Int64 }

func (a *arrivalClock) next(now time.Time) pcommon.Timestamp {
	for {
		last := a.last.Load()
		if next := max(now.UnixNano(), last+1); a.last.CompareAndSwap(last, next) {
			return pcommon.Timestamp(next)
		}
	}
}

// setArrival sets the time of profiles for which neither the payload nor the request has one. It does not become a part of the id:
// a retry arrives at another time.
func setArrival(profiles pprofile.Profiles, arrived pcommon.Timestamp) {
	for profile := range walk.Profiles(profiles) {
		if profile.Time() == 0 {
			profile.SetTime(arrived)
		}
	}
}

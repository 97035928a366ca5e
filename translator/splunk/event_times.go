// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"slices"
	"time"
)

// maxDistance is how far the time of an event may be from that of the record, in nanoseconds. A time farther away comes from a
// wrong clock, and a profile whose range has it would be useless.
const maxDistance = uint64(10 * time.Minute)

// correctTimes replaces the times that are too far from the median by the median, and returns how many. The time of the record, which
// is 0 if it has none, counts like that of one more event. duration is that of the pprof.
func (e *events) correctTimes(ofRecord, duration uint64) (corrected int) {
	e.stamps = e.stamps[:0]
	first, last := e.first, e.last
	if ofRecord != 0 {
		e.stamps = append(e.stamps, ofRecord)
		first, last = min(first, ofRecord), max(last, ofRecord)
	}
	if last-first <= maxDistance {
		return 0
	}
	for i := range e.list {
		e.stamps = append(e.stamps, e.list[i].time)
	}
	slices.Sort(e.stamps)
	median := e.stamps[len(e.stamps)/2]
	e.first, e.last = median, median
	for i := range e.list {
		at := &e.list[i].time
		if max(*at, median)-min(*at, median) > maxDistance+duration {
			*at = median
			corrected++
		}
		e.first, e.last = min(e.first, *at), max(e.last, *at)
	}
	return corrected
}

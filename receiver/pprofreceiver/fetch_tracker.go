// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// tolerance is the part of a counter by which it may decrease without a restart: the counts of sampled events are
// estimates, which are rounded.
const tolerance = 1000

// counterBytes is at least the memory of one remembered counter: its identity and its value, in a map that may be half empty.
const counterBytes = 64

// counters are the values of the samples of one message, by sample type.
type counters map[string]map[identity]int64

// snapshot is what is remembered of a profile: its counters, its time, and the memory that they take.
type snapshot struct {
	counters counters
	at       pcommon.Timestamp
	memory   *memory.Reservation
}

// tracker computes differences of cumulative profiles, and must be released. The zero value has no profile before. Not safe for concurrent
// use.
//
// Go's allocs, mutex and block profiles count from the start of a program. What happened between two of them is their
// difference, sample by sample. A sample is identified by its content, not by indices, which change from one profile to the
// next.
type tracker struct {
	// known is subtracted from the next profile. next is the last profile, which becomes known in commit.
	known, next snapshot
	// remembered is how many bytes of the share of all trackers it uses.
	remembered int64
	share      *memory.Share
}

// isGauge reports whether the values of a sample type are a state, not a count. They have no differences.
func isGauge(sampleType string) bool { return strings.HasPrefix(sampleType, "inuse_") }

// apply turns the counters in a message into what happened since the last profile that was committed. If its program was restarted since, that
// is the whole profile: its counters began at 0. isFirst says that there is no profile before it, so that there is nothing to pass on. fetched is
// when it was fetched, for profiles without a time. Samples without a difference are removed, which may leave unreferenced entries in the
// dictionary.
func (t *tracker) apply(message pprofile.Profiles, fetched time.Time) (isFirst bool) {
	ids := &identities{dictionary: message.Dictionary(), known: map[tableEntry]identity{}}
	t.next.counters, t.next.at = readCounters(message, ids), timeOf(message, fetched)
	if t.known.counters == nil {
		return true
	}
	if !t.restarted() {
		t.subtract(message, ids)
	}
	setTimes(message, t.known.at, t.next.at)
	return false
}

// commit makes the last profile the one to subtract from the next. Without it, the next difference covers both.
func (t *tracker) commit() {
	t.known.memory.Release()
	t.known, t.next = t.next, snapshot{}
	t.known.memory.Accept() // It stays, so it is not that of a small request.
}

// begin forgets the last profile, unless it was committed, and reserves memory for the counters of the next, and twice as much in addition while
// they are compared.
func (t *tracker) begin(ctx context.Context, payloads *batch) error {
	t.discard()
	bytes := counterBytes * int64(payloads.samples)
	if err := payloads.memory.Need(2 * bytes); err != nil {
		return err
	}
	t.next.memory = payloads.memory.arrival.Work(0)
	return t.next.memory.Grow(ctx, bytes)
}

// discard forgets the last profile, unless it was committed.
func (t *tracker) discard() {
	t.next.memory.Release()
	t.next = snapshot{}
	t.count(counterBytes * t.known.counters.number())
}

// count sets how many bytes of the share of all trackers it uses. It reports whether these use more than the share.
func (t *tracker) count(bytes int64) (exceeded bool) {
	if t.share != nil {
		exceeded = t.share.Use(bytes - t.remembered)
		t.remembered = bytes
	}
	return exceeded
}

// release forgets all counters and gives back their memory.
func (t *tracker) release() {
	t.known.memory.Release()
	t.next.memory.Release()
	t.count(0)
	*t = tracker{}
}

// number returns how many counters there are.
func (c counters) number() (number int64) {
	for _, values := range c {
		number += int64(len(values))
	}
	return number
}

// restarted reports whether a counter has decreased.
func (t *tracker) restarted() bool {
	for sampleType, known := range t.known.counters {
		next := t.next.counters[sampleType]
		for id, before := range known {
			if now := next[id]; now < before && before-now > max(1, before/tolerance) {
				return true
			}
		}
	}
	return false
}

func (t *tracker) subtract(message pprofile.Profiles, ids *identities) {
	for profile := range walk.Profiles(message) {
		sampleType := typeOf(message, profile)
		if isGauge(sampleType) {
			continue
		}
		// Samples that occur several times in a profile share one counter.
		rest := map[identity]int64{}
		known := t.known.counters[sampleType]
		profile.Samples().RemoveIf(func(sample pprofile.Sample) bool {
			id := ids.of(sample)
			before, begun := rest[id]
			if !begun {
				before = known[id]
			}
			values := sample.Values()
			for i := range values.Len() {
				taken := min(before, values.At(i))
				before -= taken
				values.SetAt(i, values.At(i)-taken)
			}
			rest[id] = before
			return !contains(values, func(v int64) bool { return v != 0 })
		})
	}
}

// keepCounters removes what has no meaning in a message of differences: gauges, and samples with a value below zero.
func keepCounters(message pprofile.Profiles) {
	walk.RemoveProfiles(message, func(profile pprofile.Profile) bool { return isGauge(typeOf(message, profile)) })
	for profile := range walk.Profiles(message) {
		profile.Samples().RemoveIf(func(sample pprofile.Sample) bool {
			return contains(sample.Values(), func(v int64) bool { return v < 0 })
		})
	}
}

func readCounters(message pprofile.Profiles, ids *identities) counters {
	all := counters{}
	for profile := range walk.Profiles(message) {
		sampleType := typeOf(message, profile)
		if isGauge(sampleType) {
			continue
		}
		values := all[sampleType]
		if values == nil {
			values = map[identity]int64{} // Many samples can share a counter.
			all[sampleType] = values
		}
		for _, sample := range profile.Samples().All() {
			id := ids.of(sample)
			for _, value := range sample.Values().All() {
				values[id] += value
			}
		}
	}
	return all
}

func timeOf(message pprofile.Profiles, fetched time.Time) pcommon.Timestamp {
	for profile := range walk.Profiles(message) {
		if profile.Time() != 0 {
			return profile.Time()
		}
	}
	return pcommon.NewTimestampFromTime(fetched)
}

func setTimes(message pprofile.Profiles, from, to pcommon.Timestamp) {
	for profile := range walk.Profiles(message) {
		profile.SetTime(from)
		profile.SetDurationNano(uint64(max(to, from) - from))
	}
}

func typeOf(message pprofile.Profiles, profile pprofile.Profile) string {
	return message.Dictionary().StringTable().At(int(profile.SampleType().TypeStrindex()))
}

// contains reports whether a value is one of these.
func contains(values pcommon.Int64Slice, is func(int64) bool) bool {
	for _, value := range values.All() {
		if is(value) {
			return true
		}
	}
	return false
}

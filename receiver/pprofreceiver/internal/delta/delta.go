// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package delta computes differences of cumulative profiles.
//
// Go's allocs, mutex and block profiles count from the start of a program. What happened between two of them is their
// difference, sample by sample. A sample is identified by its content, not by indices, which change from one profile to the
// next.
package delta

import (
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// tolerance is the part of a counter by which it may decrease without a restart: the counts of sampled events are
// estimates, which are rounded.
const tolerance = 1000

// CounterBytes is at least the memory of one remembered counter: its identity and its value, in a map that may be half empty.
const CounterBytes = 64

// Outcome is the result of [Tracker.Apply].
type Outcome int

const (
	// Baseline is the first profile. There is no profile before it to subtract, and nothing to pass on.
	Baseline Outcome = iota
	// Difference is what happened since the profile before.
	Difference
	// Restart is the whole profile: its program was restarted since the profile before, so that its counters began at 0.
	Restart
)

// counters are the values of the samples of one message, by sample type.
type counters map[string]map[identity]int64

// Tracker remembers the profile before. The zero value has none. Not safe for concurrent use.
type Tracker struct {
	known counters
	at    pcommon.Timestamp
	// next becomes known in Commit.
	next   counters
	nextAt pcommon.Timestamp
}

// Gauge reports whether the values of a sample type are a state, not a count. They have no differences.
func Gauge(sampleType string) bool { return strings.HasPrefix(sampleType, "inuse_") }

// Apply turns the counters in a message into what happened since the last profile that was committed. fetched is when
// it was fetched, for profiles without a time. Samples without a difference are removed, which may leave unreferenced
// entries in the dictionary.
func (t *Tracker) Apply(message pprofile.Profiles, fetched time.Time) Outcome {
	ids := newIdentities(message.Dictionary())
	t.next, t.nextAt = read(message, ids), timeOf(message, fetched)
	switch {
	case t.known == nil:
		return Baseline
	case t.restarted():
		setTimes(message, t.at, t.nextAt)
		return Restart
	default:
		t.subtract(message, ids)
		setTimes(message, t.at, t.nextAt)
		return Difference
	}
}

// Commit makes the last profile the one to subtract from the next. Without it, the next difference covers both.
func (t *Tracker) Commit() {
	if t.next != nil {
		t.known, t.at = t.next, t.nextAt
		t.next = nil
	}
}

// Discard forgets the profile that was applied last, unless it was committed.
func (t *Tracker) Discard() { t.next = nil }

// Counters returns how many counters the profile has that was applied last.
func (t *Tracker) Counters() (number int) {
	for _, values := range t.next {
		number += len(values)
	}
	return number
}

// restarted reports whether a counter has decreased.
func (t *Tracker) restarted() bool {
	for sampleType, known := range t.known {
		next := t.next[sampleType]
		for id, before := range known {
			if now := next[id]; now < before && before-now > max(1, before/tolerance) {
				return true
			}
		}
	}
	return false
}

func (t *Tracker) subtract(message pprofile.Profiles, ids *identities) {
	for profile := range walk.Profiles(message) {
		sampleType := typeOf(message, profile)
		if Gauge(sampleType) {
			continue
		}
		// Samples that occur several times in a profile share one counter.
		rest := map[identity]int64{}
		known := t.known[sampleType]
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

// KeepCounters removes what has no meaning in a message of differences: gauges, and samples with a value below zero.
func KeepCounters(message pprofile.Profiles) {
	for _, resource := range message.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			scope.Profiles().RemoveIf(func(profile pprofile.Profile) bool { return Gauge(typeOf(message, profile)) })
		}
	}
	for profile := range walk.Profiles(message) {
		profile.Samples().RemoveIf(func(sample pprofile.Sample) bool {
			return contains(sample.Values(), func(v int64) bool { return v < 0 })
		})
	}
}

func read(message pprofile.Profiles, ids *identities) counters {
	all := counters{}
	for profile := range walk.Profiles(message) {
		sampleType := typeOf(message, profile)
		if Gauge(sampleType) {
			continue
		}
		values := all[sampleType]
		if values == nil {
			values = make(map[identity]int64, profile.Samples().Len())
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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"math"
	"math/bits"
	"time"

	"github.com/otelpprof/otelpprof/translator/jfr/internal/reader"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Options configure a [Decoder]. The zero value is the default.
type Options struct {
	// Limits limit the cost of one recording: InflatedBytes, Samples (of values: an allocation has two, a count and bytes) and
	// LocationsPerSample. InflatedBytes is also for the labels, and for the text of functions and attributes. Zero or less means the
	// default of [pprof.DefaultLimits]. A string has at most [pprof.MaxStringBytes].
	Limits pprof.Limits
	// LinkLabels are the names of labels that become links. Nil means [pprof.DefaultLinkLabels]. With an empty slice that is not nil,
	// no label becomes a link.
	LinkLabels []pprof.LinkLabels
	// KeepGeneratedNames keeps the addresses and counters in the names of classes that the JVM generates, such as lambdas and proxies.
	// By default they are removed, as in Pyroscope: the names then are the same in each process.
	KeepGeneratedNames bool
	// IncludeOriginalPayload copies the payload, as it was passed to Decode, into each profile.
	IncludeOriginalPayload bool
}

// Source has what a caller knows about a recording. Its ProfileName and SampleTypes are ignored: the recording has them.
type Source struct {
	pprof.Source
	// Labels is the labels snapshot of Pyroscope's agents, plain or compressed with gzip or zstd. It can be empty.
	Labels []byte
	// Period is the time between two execution samples. It is for recordings that do not have it. 0 means unknown.
	Period time.Duration
}

// Stats describe a translation. Samples counts the events that became values.
type Stats struct {
	pprof.DecodeStats
	// Skipped counts the events that no profile has, by their type in the order of the names. Events that only describe others, such
	// as settings, are not among them.
	Skipped []SkippedEvents
}

// SkippedEvents counts the events of a type of which there is no profile.
type SkippedEvents struct {
	Type   string
	Events int
}

// clock converts the ticks of a chunk to nanoseconds since 1970.
type clock struct {
	startNanos, startTicks, perSecond uint64
}

const second = 1_000_000_000

func newClock(c *reader.Chunk) clock {
	return clock{c.StartNanos, c.StartTicks, max(c.TicksPerSecond, 1)}
}

// duration converts a number of ticks to nanoseconds. The result is at most the largest int64.
func (c *clock) duration(ticks uint64) uint64 {
	if c.perSecond == second {
		return min(ticks, math.MaxInt64)
	}
	high, low := bits.Mul64(ticks, second)
	if high >= c.perSecond {
		return math.MaxInt64
	}
	nanos, _ := bits.Div64(high, low, c.perSecond)
	return min(nanos, math.MaxInt64)
}

// time returns the time of an event in nanoseconds since 1970. If it would be before 1970 or after 2262, ok is false and the time is
// the start of the chunk. An event may begin before its chunk.
func (c *clock) time(ticks uint64) (nanos uint64, ok bool) {
	if ahead := int64(ticks - c.startTicks); ahead >= 0 {
		nanos = c.startNanos + c.duration(uint64(ahead))
		ok = nanos <= math.MaxInt64
	} else {
		behind := c.duration(-uint64(ahead))
		nanos = c.startNanos - behind
		ok = behind < c.startNanos
	}
	if !ok || c.startNanos > math.MaxInt64 {
		return min(c.startNanos, math.MaxInt64-1), false
	}
	return min(nanos, math.MaxInt64-1), true
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"math"
	"math/bits"

	"github.com/otelpprof/otelpprof/translator/jfr/internal/reader"
)

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

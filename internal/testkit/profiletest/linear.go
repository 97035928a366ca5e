// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"strings"
	"testing"
	"time"
)

// Linear work takes eight times as much time for eight times the length, quadratic work 64 times as much.
const (
	shortText = 8 << 10
	lengthen  = 8
	maxRatio  = 12
	// leastTime is the least time that counts for as many short texts as fit into a long one. Texts that are refused early take less
	// than the clock can compare.
	leastTime = 40 * time.Microsecond
	// runs is the number of comparisons at most. A busy machine disturbs some of them.
	runs = 10
)

// CheckLinear checks that the time of read grows linearly with its text. The texts begin with head and end with tail. Between them is a
// token that is repeated, then another one that is repeated, for all pairs of tokens. read may refuse a text.
func CheckLinear(tb testing.TB, head, tail string, tokens []string, read func(text []byte)) {
	tb.Helper()
	for _, first := range tokens {
		for _, second := range tokens {
			text := func(length int) []byte {
				return []byte(head + repeat(first, length/2) + repeat(second, length/2) + tail)
			}
			// A processor can do with a short text what it cannot do with a longer one, so that counts only if it is repeated.
			ratio := costRatio(text(shortText), text(lengthen*shortText), read)
			if ratio > maxRatio {
				ratio = costRatio(text(lengthen*shortText), text(lengthen*lengthen*shortText), read)
			}
			if ratio > maxRatio {
				tb.Fatalf("%d times the text takes %.1f times as long: %.80q, then repeated %q and %q, then %.80q", lengthen, ratio, head, first, second, tail)
			}
		}
	}
}

func repeat(token string, length int) string { return strings.Repeat(token, length/len(token)) }

// costRatio returns how many times as long read takes for the long text. It compares the shortest CPU times, and measures again as long
// as the ratio is too high.
func costRatio(short, long []byte, read func(text []byte)) (ratio float64) {
	fastShort, fastLong := time.Hour, time.Hour
	for range runs {
		// Both times are for the same number of bytes, so that a busy machine disturbs both.
		fastShort = min(fastShort, timeOf(func() {
			for range lengthen {
				read(short)
			}
		}))
		fastLong = min(fastLong, timeOf(func() { read(long) }))
		if ratio = lengthen * float64(fastLong) / float64(max(fastShort, leastTime)); ratio <= maxRatio {
			break
		}
	}
	return ratio
}

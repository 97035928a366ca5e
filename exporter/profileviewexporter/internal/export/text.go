// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package export writes profiles in the formats of other tools, up to a limit.
package export // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/export"

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/google/pprof/profile"
)

// ErrTooLarge is the error for a text that exceeds its limit.
var ErrTooLarge = errors.New("the text is too large")

// Limits are the limits of a text.
type Limits struct {
	// Bytes is the maximum length of the text.
	Bytes int64
	// Reserve is called before memory is allocated, with the total bytes of the text. Its error ends the work. It can be nil.
	Reserve func(bytes int64) error
}

// text is a text up to its limits. After an error it does not change.
type text struct {
	limits Limits
	bytes  []byte
	err    error
}

// grow grows the capacity for n more bytes, and returns whether that is within the limits.
func (t *text) grow(n int) bool {
	if t.err != nil {
		return false
	}
	size := len(t.bytes) + n
	if int64(size) > t.limits.Bytes {
		t.err = fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, t.limits.Bytes)
		return false
	}
	if size <= cap(t.bytes) {
		return true
	}
	capacity := int(min(int64(max(2*cap(t.bytes), size, leastText)), t.limits.Bytes))
	if t.limits.Reserve != nil {
		// During the copy, both buffers are in memory.
		if t.err = t.limits.Reserve(int64(cap(t.bytes) + capacity)); t.err != nil {
			return false
		}
	}
	larger := make([]byte, len(t.bytes), capacity)
	copy(larger, t.bytes)
	t.bytes = larger
	return true
}

// leastText is the initial capacity of a text.
const leastText = 4 << 10

func (t *text) add(s string) {
	if t.grow(len(s)) {
		t.bytes = append(t.bytes, s...)
	}
}

// frames returns the frames of a sample, from the root to the leaf.
func frames(s *profile.Sample) iter.Seq[*profile.Line] {
	return func(yield func(*profile.Line) bool) {
		for _, l := range slices.Backward(s.Location) {
			for i := range slices.Backward(l.Line) {
				if !yield(&l.Line[i]) {
					return
				}
			}
		}
	}
}

// nameOf returns the name of the function of a frame.
func nameOf(l *profile.Line) string {
	if l.Function == nil {
		return ""
	}
	return l.Function.Name
}

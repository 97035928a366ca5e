// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package export writes profiles in the formats of other tools, within a limit.
package export // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/export"

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/google/pprof/profile"
)

// ErrTooLarge says that a text is larger than it may be.
var ErrTooLarge = errors.New("the text is too large")

// Limits bound what is written.
type Limits struct {
	// Bytes is the most that a text may have.
	Bytes int64
	// Reserve is asked, if it is set, before memory is taken, with the bytes that the text takes then. Its error ends the work.
	Reserve func(bytes int64) error
}

// text is what is written, up to the limits. After an error it stays as it is.
type text struct {
	limits Limits
	bytes  []byte
	err    error
}

// room makes room for n more bytes, and tells whether there is.
func (t *text) room(n int) bool {
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
		// While it is copied, there are both.
		if t.err = t.limits.Reserve(int64(cap(t.bytes) + capacity)); t.err != nil {
			return false
		}
	}
	larger := make([]byte, len(t.bytes), capacity)
	copy(larger, t.bytes)
	t.bytes = larger
	return true
}

// leastText is what a text takes at first.
const leastText = 4 << 10

func (t *text) add(s string) {
	if t.room(len(s)) {
		t.bytes = append(t.bytes, s...)
	}
}

// frames are those of a sample, from the root to the leaf.
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

// nameOf is the name of the function of a frame.
func nameOf(l *profile.Line) string {
	if l.Function == nil {
		return ""
	}
	return l.Function.Name
}

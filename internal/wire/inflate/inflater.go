// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"errors"
	"fmt"
	"io"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// inflater accounts for the memory and the size of one call of [Into].
type inflater struct {
	meter *meter.Meter
	// working is the number of bytes in use in addition to the result.
	working int
	// overwritten is the size of the result's array while an inner layer overwrites the outer one in it.
	overwritten int
	// outer has the copy of an outer layer.
	outer *[]byte
	// largest is the size of the largest layer, as far as it was decompressed.
	largest int
	// read is the number of compressed bytes of all layers that were read, mostRead its limit. ended is the error that ended reading.
	read, mostRead int64
	ended          error
}

// passes is how often a layer is read at most, see [gzipReader.append]. nestedFactor limits what is read of all inner layers together, as a
// multiple of the limit of one: blocks without content let a few bytes become layers that take seconds.
const (
	passes       = 3
	nestedFactor = 2
)

// source is the compressed form of a layer, whose bytes count as work when they are read.
type source struct {
	rest     []byte
	inflater *inflater
}

// Read returns the next bytes. Its error ends the work.
func (s *source) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, s.inflater.advance(n)
}

// advance counts compressed bytes that are read.
func (t *inflater) advance(bytes int) error {
	if t.read += int64(bytes); t.read > t.mostRead {
		t.ended = fmt.Errorf("%w: %d bytes of all layers of compression, the limit is %d", ErrTooLarge, t.read, t.mostRead)
	} else {
		t.ended = t.meter.Advance(int64(bytes))
	}
	return t.ended
}

// corrupt wraps an error of a decompressor in ErrCorrupt, unless the work was ended.
func (t *inflater) corrupt(format string, err error) error {
	switch {
	case t.ended != nil:
		return t.ended
	case err == nil, errors.Is(err, ErrTooLarge):
		return err
	default:
		return fmt.Errorf("cannot inflate %s: %w: %w", format, ErrCorrupt, err)
	}
}

// produced notes that a layer has decompressed to this many bytes until now.
func (t *inflater) produced(bytes int) { t.largest = max(t.largest, bytes) }

// need is [meter.Meter.Need] for the result and the working memory.
func (t *inflater) need(bytes int) error {
	return t.meter.Need(int64(max(bytes, t.overwritten) + t.working))
}

// grow returns dst with capacity for n more bytes. If dst moves, the old array counts as working memory from then on: only a
// garbage collection frees it.
func (t *inflater) grow(dst []byte, n int) ([]byte, error) {
	isEnough := cap(dst)-len(dst) >= n
	if !isEnough && (len(dst) > 0 || t.overwritten > 0) {
		t.working += cap(dst)
		t.overwritten = 0
	}
	if err := t.need(len(dst) + n); err != nil || isEnough {
		return dst, err
	}
	return append(newBuffer(len(dst)+n), dst...), nil
}

// firstBytes is the size of the first buffer of [ReadAll].
const firstBytes = 64 << 10

// ReadAll reads what a decompressor returns, up to limit bytes: else the error is [ErrTooLarge]. The result is left in use. Other errors
// are those of the reader and of the meter.
func ReadAll(from io.Reader, limit int, work *meter.Meter) ([]byte, error) {
	from = io.LimitReader(from, int64(limit)+1) // One more byte shows that the limit is exceeded.
	var content []byte
	for {
		if len(content) == cap(content) {
			capacity := min(max(2*cap(content), firstBytes), limit+1)
			// The old buffer is garbage, but not collected yet.
			if err := work.Use(int64(capacity)); err != nil {
				return nil, err
			}
			content = append(make([]byte, 0, capacity), content...)
		}
		n, err := from.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		switch {
		case len(content) > limit:
			return nil, tooLarge(limit)
		case errors.Is(err, io.EOF):
			return content, nil
		case err != nil:
			return nil, err
		}
	}
}

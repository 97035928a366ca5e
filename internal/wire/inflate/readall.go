// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"errors"
	"io"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

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

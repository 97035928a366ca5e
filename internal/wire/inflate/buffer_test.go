// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// TestFree: a large buffer is used again, but only after its memory was reserved, and not for contents that are much smaller.
func TestFree(t *testing.T) {
	const size = 3 * aboveBytes
	payload := gzipped(t, make([]byte, size))
	open := func(buffer *[]byte, payload []byte, reserve func(int64) error) error {
		_, _, err := Open(buffer, payload, 2*size, meter.New(0, reserve))
		return err
	}
	free := func(content []byte) *byte {
		first := &content[:1][0]
		Free(&content)
		assert.Nil(t, content)
		return first
	}
	for range 100 { // With the race detector, a sync.Pool forgets some of what it has.
		var buffer []byte
		require.NoError(t, open(&buffer, payload, nil))
		first := free(buffer)

		full := errors.New("full")
		var refused []byte
		require.ErrorIs(t, open(&refused, payload, func(total int64) error {
			if total > aboveBytes {
				return full
			}
			return nil
		}), full)
		assert.Less(t, cap(refused), size, "who waits for memory has no large buffer")

		var again []byte
		require.NoError(t, open(&again, payload, nil))
		if &again[0] == first {
			return
		}
	}
	t.Error("no large buffer was used again")
}

// TestFreeTooLarge: a content gets no buffer of more than its size and a quarter.
func TestFreeTooLarge(t *testing.T) {
	for range 10 {
		buffer := make([]byte, 3*aboveBytes/2)
		Free(&buffer)
		buffer = newBuffer(aboveBytes + 1)
		assert.LessOrEqual(t, cap(buffer), aboveBytes+aboveBytes/4+1)
	}
}

func TestFreeSmall(t *testing.T) {
	buffer := make([]byte, 10)
	Free(&buffer)
	assert.Len(t, buffer, 10, "it stays")
}

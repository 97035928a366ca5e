// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// emptyBlocks returns a gzip of plain that begins with about size bytes of blocks without content.
func emptyBlocks(tb testing.TB, size int, plain []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	for out.Len() < size {
		require.NoError(tb, writer.Flush())
	}
	_, err := writer.Write(plain)
	require.NoError(tb, err)
	require.NoError(tb, writer.Close())
	return out.Bytes()
}

// TestReadingCanBeEnded: what is read of a layer counts as work, also if nothing comes out of it, so that the caller can end it.
func TestReadingCanBeEnded(t *testing.T) {
	const size, limit, perCall = 4 << 20, 8 << 20, 256 << 10
	empty := emptyBlocks(t, size, []byte("x"))
	wrong := bytes.Clone(empty)
	binary.LittleEndian.PutUint32(wrong[len(wrong)-4:], limit+1)
	text := profileLike(limit)
	frames := join(zstdStream(t, bytes.NewReader(text[:limit/2+1])), zstdStream(t, bytes.NewReader(text[limit/2+1:])))
	for name, test := range map[string]struct {
		src    []byte
		read   int
		failed error
	}{
		"gzip":         {src: empty, read: size},
		"counted gzip": {src: wrong, read: size, failed: ErrCorrupt},
		"nested gzip":  {src: gzipped(t, empty), read: size},
		"gzip in zstd": {src: zstdAll(t, empty), read: size},
		"counted zstd": {src: frames, read: len(frames)},
	} {
		calls := 0
		_, _, err := Into(nil, test.src, limit, meter.New(0, func(int64) error { calls++; return nil }))
		require.ErrorIs(t, err, test.failed, name)
		assert.GreaterOrEqual(t, calls, test.read/perCall, name)

		left, ended := calls-1, errors.New("the request has ended")
		_, _, err = Into(nil, test.src, limit, meter.New(0, func(int64) error {
			if left--; left < 0 {
				return ended
			}
			return nil
		}))
		assert.Equal(t, ended, err, name)
	}
}

// TestLayersTogether: a few bytes that become several long layers are refused, and a payload that hardly compresses is not.
func TestLayersTogether(t *testing.T) {
	const limit = 1 << 20
	src, random := []byte("x"), randomBytes(limit-1000)
	for range MaxDepth - 1 {
		src = emptyBlocks(t, limit-5000, src)
	}
	_, _, err := Into(nil, gzipped(t, src), limit, nil)
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "bytes of all layers of compression, the limit is 21")

	for range MaxDepth {
		random = gzipped(t, random)
	}
	_, _, err = Into(nil, random, limit, nil)
	require.NoError(t, err)
}

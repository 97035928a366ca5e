// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

const (
	bombSize  = 1 << 30
	bombLimit = 64 << 20
)

// TestBombs: 1 GiB of zeros is refused in every format, and that needs far less memory than the limit allows.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("compresses several GiB")
	}
	gz := gzipStream(t, zeros(bombSize), gzip.DefaultCompression)
	zs := zstdStream(t, zeros(bombSize))
	liar := bytes.Clone(gz)
	binary.LittleEndian.PutUint32(liar[len(liar)-4:], 1000)
	for name, src := range map[string][]byte{
		"gzip":         gz,
		"loose gzip":   gzipStream(t, zeros(bombSize), gzip.BestSpeed),
		"lying gzip":   liar,
		"two gzips":    join(gz, gzipped(t, nil)),
		"zstd":         zs,
		"gzip in gzip": gzipped(t, gz),
		"zstd in zstd": zstdAll(t, zs),
		"gzip in zstd": zstdAll(t, gz),
		"zstd in gzip": gzipped(t, zs),
		"huge outer":   gzipStream(t, io.MultiReader(bytes.NewReader(zs), zeros(bombSize)), gzip.DefaultCompression),
	} {
		t.Run(name, func(t *testing.T) {
			t.Logf("%d bytes", len(src))
			var err error
			used := memorytest.Allocated(func() { _, err = plainOf(nil, src, bombLimit) })
			require.ErrorIs(t, err, ErrTooLarge)
			assert.Less(t, used, int64(24<<20), "bytes allocated in total")
		})
	}
}

// TestHighRatio: a payload with a high compression ratio is decompressed if it is within the limit, without much more memory
// than its size.
func TestHighRatio(t *testing.T) {
	const size = 40 << 20
	gz := gzipStream(t, zeros(size), gzip.BestSpeed)
	for name, src := range map[string][]byte{
		"gzip":         gz,
		"gzip members": join(gz, gzipped(t, []byte("end"))),
		"zstd":         zstdStream(t, zeros(size)),
	} {
		var got []byte
		var err error
		used := memorytest.Allocated(func() { got, err = plainOf(nil, src, bombLimit) })
		require.NoError(t, err, name)
		assert.GreaterOrEqual(t, len(got), size, name)
		assert.Less(t, used, int64(2*size), "%s: bytes allocated in total", name)
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

// TestManyFrames: the number of frames is limited, since each one costs time.
func TestManyFrames(t *testing.T) {
	frame := zstdAll(t, []byte{1})
	got, err := plainOf(nil, bytes.Repeat(frame, maxFrames), bombLimit)
	require.NoError(t, err)
	assert.Len(t, got, maxFrames)
	_, err = plainOf(nil, bytes.Repeat(frame, maxFrames+1), bombLimit)
	require.ErrorIs(t, err, ErrTooLarge)
	assert.ErrorContains(t, err, "more than 10000 frames")
}

// TestReserving: in every format, nothing is allocated before it is reserved, and an error of reserve ends the call. The result is that
// of [Into].
func TestReserving(t *testing.T) {
	const size, limit = 12 << 20, 16 << 20
	random := randomBytes(3 << 20)
	liar := gzipped(t, random)
	binary.LittleEndian.PutUint32(liar[len(liar)-4:], 1000)
	// It compresses by so little that each layer needs almost as much as the result.
	large := join(make([]byte, 1<<20), randomBytes(7<<20))
	for name, src := range map[string][]byte{
		"plain":              random,
		"gzip":               gzipped(t, random),
		"small gzip":         gzipped(t, []byte("a profile")),
		"dense gzip":         gzipStream(t, zeros(size), gzip.BestSpeed),
		"two gzips":          join(gzipped(t, random), gzipped(t, random)),
		"zstd":               zstdAll(t, random),
		"small zstd":         zstdAll(t, []byte("a profile")),
		"zstd stream":        zstdStream(t, zeros(size)),
		"gzip in gzip":       gzipped(t, gzipped(t, random)),
		"three layers":       zstdAll(t, gzipped(t, zstdAll(t, random))),
		"too large":          gzipStream(t, zeros(limit+1), gzip.BestSpeed),
		"too large, zstd":    zstdStream(t, zeros(limit+1)),
		"lying gzip":         join(gzipped(t, random), liar),
		"large gzip in gzip": gzipped(t, gzipped(t, large)),
		"large zstd in gzip": gzipped(t, zstdAll(t, large)),
		"large gzip in zstd": zstdAll(t, gzipped(t, large)),
		"four layers":        zstdAll(t, gzipped(t, zstdAll(t, gzipped(t, large)))),
	} {
		t.Run(name, func(t *testing.T) {
			want, wantErr := plainOf([]byte("before"), src, limit)
			memorytest.Check(t, func(reserve func(total int64) error) error {
				got, _, err := Into([]byte("before"), src, limit, meter.New(0, reserve))
				if err != nil && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrCorrupt) {
					assert.Empty(t, got)
					return err
				}
				assert.Equal(t, wantErr, err)
				assert.True(t, bytes.Equal(want, got))
				return nil
			})
		})
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const testLimit = 1 << 20

// plainOf is Into without a meter.
func plainOf(dst, src []byte, limit int) ([]byte, error) {
	dst, _, err := Into(dst, src, limit, nil)
	return dst, err
}

func TestInto(t *testing.T) {
	text := []byte(strings.Repeat("a profile of something, somewhere. ", 1000))
	noise := randomBytes(300_000)
	for _, plain := range [][]byte{nil, []byte("x"), text, noise, make([]byte, testLimit)} {
		cases := map[string][]byte{
			"plain":               plain,
			"gzip":                gzipped(t, plain),
			"zstd":                zstdAll(t, plain),
			"zstd of a stream":    zstdStream(t, bytes.NewReader(plain)),
			"zstd in gzip":        gzipped(t, zstdAll(t, plain)),
			"gzip in zstd":        zstdAll(t, gzipped(t, plain)),
			"four times gzip":     gzipped(t, gzipped(t, gzipped(t, gzipped(t, plain)))),
			"two members":         join(gzipped(t, half(plain, 0)), gzipped(t, half(plain, 1))),
			"empty first member":  join(gzipped(t, nil), gzipped(t, plain), gzipped(t, nil)),
			"two frames":          join(zstdAll(t, half(plain, 0)), zstdAll(t, half(plain, 1))),
			"two streamed frames": join(zstdStream(t, bytes.NewReader(half(plain, 0))), zstdStream(t, bytes.NewReader(half(plain, 1)))),
			"skippable frame":     join(zstdAll(t, plain), []byte("\x50\x2a\x4d\x18\x03\x00\x00\x00abc")),
		}
		for name, src := range cases {
			t.Run(name, func(t *testing.T) {
				got := must.Get(plainOf([]byte("before:"), src, testLimit))(t)
				assert.True(t, bytes.Equal(plain, got), "%d bytes, want %d", len(got), len(plain))

				reused := must.Get(plainOf(got, src, testLimit))(t)
				assert.True(t, bytes.Equal(plain, reused))
			})
		}
	}
}

// TestLimitIsExact: in every format, a payload of exactly limit bytes is accepted, and one with a byte more is refused.
func TestLimitIsExact(t *testing.T) {
	for _, size := range []int{1, 100, 5000, 200_000} {
		for _, plain := range [][]byte{make([]byte, size), randomBytes(size)} {
			for name, src := range map[string][]byte{
				"plain":       plain,
				"gzip":        gzipped(t, plain),
				"members":     join(gzipped(t, half(plain, 0)), gzipped(t, half(plain, 1))),
				"zstd":        zstdAll(t, plain),
				"zstd stream": zstdStream(t, bytes.NewReader(plain)),
				"frames":      join(zstdStream(t, bytes.NewReader(half(plain, 0))), zstdStream(t, bytes.NewReader(half(plain, 1)))),
			} {
				for _, space := range []int{0, size, 4 * size} {
					got, err := plainOf(make([]byte, 0, space), src, size)
					require.NoError(t, err, "%s of %d bytes into %d", name, size, space)
					require.True(t, bytes.Equal(plain, got), name)

					_, err = plainOf(make([]byte, 0, space), src, size-1)
					require.ErrorIs(t, err, ErrTooLarge, "%s of %d bytes into %d", name, size, space)
					require.NotErrorIs(t, err, ErrCorrupt)
				}
			}
		}
	}
}

func TestTooLargeNamesTheLimit(t *testing.T) {
	_, err := plainOf(nil, gzipped(t, make([]byte, 1235)), 1234)
	require.ErrorContains(t, err, "1234")
	_, err = plainOf(nil, []byte("x"), -5)
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = plainOf([]byte("before"), gzipped(t, []byte("y")), math.MaxInt)
	require.NoError(t, err)
}

func TestTooDeep(t *testing.T) {
	src := []byte("x")
	for range MaxDepth {
		src = gzipped(t, src)
	}
	_, err := plainOf(nil, src, testLimit)
	require.NoError(t, err)
	_, err = plainOf(nil, gzipped(t, src), testLimit)
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "4 layers")
}

// TestTruncated cuts small payloads after each byte from the fourth on. Less than the magic number counts as not compressed.
func TestTruncated(t *testing.T) {
	plain := []byte(strings.Repeat("a profile of something, somewhere. ", 20))
	for name, src := range map[string][]byte{
		"gzip":        gzipped(t, plain),
		"members":     join(gzipped(t, plain), gzipped(t, plain)),
		"zstd":        zstdAll(t, plain),
		"zstd stream": zstdStream(t, bytes.NewReader(plain)),
		"nested":      gzipped(t, zstdAll(t, plain)),
	} {
		whole := map[int]bool{}
		if name == "members" {
			whole[len(src)/2] = true
		}
		for end := 4; end < len(src); end++ {
			_, err := plainOf(nil, src[:end], testLimit)
			if whole[end] {
				require.NoError(t, err, "%s cut at %d", name, end)
				continue
			}
			require.ErrorIs(t, err, ErrCorrupt, "%s cut at %d", name, end)
		}
	}
}

func TestCorrupt(t *testing.T) {
	plain := randomBytes(2000)
	flipped := func(src []byte, at int) []byte {
		src = bytes.Clone(src)
		src[at] ^= 0x10
		return src
	}
	gz, zs := gzipped(t, plain), zstdAll(t, plain)
	for name, src := range map[string][]byte{
		"gzip header":              flipped(gz, 3),
		"gzip checksum":            flipped(gz, len(gz)-6),
		"gzip size":                flipped(gz, len(gz)-1),
		"gzip then text":           join(gz, []byte("trailing garbage")),
		"gzip then a byte":         join(gz, []byte{0}),
		"gzip then zstd":           join(gz, zs),
		"zstd checksum":            flipped(zs, len(zs)-1),
		"zstd then text":           join(zs, []byte("trailing garbage")),
		"zstd then a byte":         join(zs, []byte{0}),
		"zstd then gzip":           join(zs, gz),
		"zstd claims too much":     join([]byte(zstdMagic), []byte{0xa0, 0xff, 0xff, 0xff, 0x7f}, []byte{1, 0, 0}),
		"zstd unknown dictionary":  join([]byte(zstdMagic), []byte{0x21, 7, 0}, []byte{1, 0, 0}),
		"zstd reserved block type": join([]byte(zstdMagic), []byte{0x00, 0x00}, []byte{7, 0, 0}),
	} {
		got, err := plainOf([]byte("before"), src, math.MaxInt32)
		require.ErrorIs(t, err, ErrCorrupt, name)
		require.NotErrorIs(t, err, ErrTooLarge, name)
		require.Empty(t, got, name)
	}
}

// TestMeasured: the size is that of the largest layer, also if decompression fails.
func TestMeasured(t *testing.T) {
	const limit = 100_000
	text := []byte(strings.Repeat("a profile of something, somewhere. ", limit/35))
	wrongSum := gzipped(t, text)
	wrongSum[len(wrongSum)-8]++
	wrongZstd := zstdAll(t, text)
	wrongZstd[len(wrongZstd)-1]++
	padded := join(zstdAll(t, []byte("x")), []byte("\x50\x2a\x4d\x18\x50\xc3\x00\x00"), make([]byte, 50_000))
	for name, c := range map[string]struct {
		src    []byte
		size   int
		failed error
	}{
		"plain":                  {src: text, size: len(text)},
		"gzip":                   {src: gzipped(t, text), size: len(text)},
		"zstd":                   {src: zstdAll(t, text), size: len(text)},
		"gzip in zstd":           {src: zstdAll(t, gzipped(t, text)), size: len(text)},
		"large outer layer":      {src: gzipped(t, padded), size: len(padded)},
		"plain, too large":       {src: make([]byte, limit+1), failed: ErrTooLarge},
		"gzip, too large":        {src: gzipped(t, make([]byte, limit+1)), size: limit, failed: ErrTooLarge},
		"two gzips, too large":   {src: join(gzipped(t, make([]byte, limit)), gzipped(t, []byte("x"))), size: limit, failed: ErrTooLarge},
		"zstd, too large":        {src: zstdStream(t, bytes.NewReader(join(text, text))), size: limit, failed: ErrTooLarge},
		"zstd says it":           {src: zstdAll(t, join(text, text)), failed: ErrTooLarge},
		"gzip, wrong checksum":   {src: wrongSum, size: len(text), failed: ErrCorrupt},
		"zstd, wrong checksum":   {src: wrongZstd, size: len(text), failed: ErrCorrupt},
		"inner, wrong checksum":  {src: gzipped(t, wrongSum), size: len(text), failed: ErrCorrupt},
		"inner layer is damaged": {src: gzipped(t, join([]byte(gzipMagic), make([]byte, 50_000))), size: 50_002, failed: ErrCorrupt},
	} {
		got, size, err := Into([]byte("before"), c.src, limit, &meter.Meter{})
		assert.Equal(t, c.size, size, name)
		require.ErrorIs(t, err, c.failed, name)
		assert.Equal(t, c.failed != nil, len(got) == 0, name)
	}
}

// TestOpen: a plain payload is returned itself and counts nothing, a compressed one is in the buffer and stays in use.
func TestOpen(t *testing.T) {
	plain := randomBytes(50_000)
	buffer, work := []byte(nil), meter.New(0, nil)
	got, size, err := Open(&buffer, plain, 10, work)
	require.NoError(t, err)
	assert.Equal(t, len(plain), size)
	assert.Same(t, &plain[0], &got[0])
	assert.Empty(t, buffer)
	assert.Zero(t, work.Used())
	got, size, err = Open(&buffer, gzipped(t, plain), len(plain), work)
	require.NoError(t, err)
	assert.Equal(t, len(plain), size)
	assert.Equal(t, plain, got)
	assert.Same(t, &buffer[0], &got[0])
	assert.Equal(t, int64(cap(buffer)), work.Used())
	_, _, err = Open(&buffer, gzipped(t, plain), 10, work)
	require.ErrorIs(t, err, ErrTooLarge)
}

func TestPlain(t *testing.T) {
	assert.True(t, Plain(nil))
	assert.True(t, Plain([]byte{0x1f}))
	assert.True(t, Plain([]byte{0x0a, 0x04, 0x08, 0x01}))
	assert.False(t, Plain(gzipped(t, nil)))
	assert.False(t, Plain(zstdAll(t, nil)))
}

func randomBytes(n int) []byte {
	seed := rand.NewPCG(1, 2)
	out := make([]byte, 0, n+8)
	for len(out) < n {
		out = binary.LittleEndian.AppendUint64(out, seed.Uint64())
	}
	return out[:n]
}

func half(b []byte, which int) []byte {
	if which == 0 {
		return b[:len(b)/2]
	}
	return b[len(b)/2:]
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func gzipped(tb testing.TB, plain []byte) []byte {
	tb.Helper()
	return gzipStream(tb, bytes.NewReader(plain), gzip.DefaultCompression)
}

func gzipStream(tb testing.TB, plain io.Reader, level int) []byte {
	tb.Helper()
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, level)
	require.NoError(tb, err)
	_, err = io.Copy(writer, plain)
	require.NoError(tb, err)
	require.NoError(tb, writer.Close())
	return out.Bytes()
}

func zstdAll(tb testing.TB, plain []byte) []byte {
	tb.Helper()
	encoder := must.Get(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true)))(tb)
	out := encoder.EncodeAll(plain, nil)
	require.NoError(tb, encoder.Close())
	return out
}

// zstdStream returns a frame without its decompressed size in the header.
func zstdStream(tb testing.TB, plain io.Reader) []byte {
	tb.Helper()
	var out bytes.Buffer
	encoder, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
	require.NoError(tb, err)
	_, err = io.Copy(encoder, plain)
	require.NoError(tb, err)
	require.NoError(tb, encoder.Close())
	return out.Bytes()
}

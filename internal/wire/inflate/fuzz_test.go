// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
)

// FuzzInto checks what the documentation of Into promises: the limit, the two classes of errors,
// and that the result for gzip is that of the library's reader.
func FuzzInto(f *testing.F) {
	plain := []byte("a profile, a profile, a profile")
	gz, zs := gzipped(f, plain), zstdAll(f, plain)
	for _, seed := range [][]byte{
		nil, plain, gz, zs, gz[:len(gz)-3], zs[:len(zs)-3],
		join(gz, gz), join(zs, zs), join(gz, zs), join(zs, gz), join(gz, plain), join(zs, plain),
		gzipped(f, zs), zstdAll(f, gz), zstdStream(f, bytes.NewReader(plain)), gzipped(f, make([]byte, 5000)),
		zstdStream(f, zeros(300_000)), zstdAll(f, make([]byte, 5000)),
		join(zs, []byte("\x50\x2a\x4d\x18\x03\x00\x00\x00abc")),
	} {
		f.Add(seed, uint16(1000))
	}
	f.Fuzz(func(t *testing.T, src []byte, limit16 uint16) {
		limit := int(limit16)
		got, err := plainOf([]byte("before"), src, limit)
		if err != nil {
			if len(got) != 0 {
				t.Fatalf("%d bytes and an error: %v", len(got), err)
			}
			if errors.Is(err, ErrTooLarge) == errors.Is(err, ErrCorrupt) {
				t.Fatalf("not exactly one class: %v", err)
			}
			return
		}
		if len(got) > limit {
			t.Fatalf("%d bytes, limit %d", len(got), limit)
		}
		if !Plain(got) {
			t.Fatalf("still compressed: %x", got)
		}
		if want, ok := gunzip(src); ok && Plain(want) && !bytes.Equal(want, got) {
			t.Fatalf("got %x, want %x", got, want)
		}
	})
}

// gunzip decompresses with the library's reader, without a limit.
func gunzip(src []byte) ([]byte, bool) {
	reader, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, false
	}
	plain, err := io.ReadAll(reader)
	return plain, err == nil
}

// BenchmarkInto measures decompressed bytes per second. into=reused is the steady state of a server that keeps its buffers.
// For comparison, op=reader is klauspost's gzip reader, with a destination of the right size.
//
//	go test -run='^$' -bench=Into -benchtime=2s -count=6 -cpu=1 ./internal/wire/inflate
func BenchmarkInto(b *testing.B) {
	for _, size := range []int{300 << 10, 3 << 20, 10 << 20} {
		plain := profileLike(size)
		gz := gzipped(b, plain)
		for _, c := range []struct {
			name string
			src  []byte
			keep bool
		}{
			{"form=gzip/into=reused", gz, true},
			{"form=gzip/into=new", gz, false},
			{"form=zstd/into=reused", zstdAll(b, plain), true},
			{"form=zstd/into=new", zstdAll(b, plain), false},
		} {
			b.Run(fmt.Sprintf("plain=%dKB/op=into/%s", size>>10, c.name), func(b *testing.B) {
				b.SetBytes(int64(len(plain)))
				b.ReportAllocs()
				var dst []byte
				for b.Loop() {
					out, err := plainOf(dst[:0], c.src, 64<<20)
					require.NoError(b, err)
					if c.keep {
						dst = out
					}
				}
			})
		}
		b.Run(fmt.Sprintf("plain=%dKB/op=reader/form=gzip/into=reused", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			dst := make([]byte, len(plain)+1)
			var reader gzip.Reader
			var src bytes.Reader
			for b.Loop() {
				src.Reset(gz)
				require.NoError(b, reader.Reset(&src))
				n, err := readFull(&reader, dst)
				require.Error(b, err)
				require.Equal(b, len(plain), n)
			}
		})
	}
}

// profileLike returns bytes that compress about as well as a profile, with a ratio of 4.
func profileLike(size int) []byte {
	noise := randomBytes(size)
	for i := range noise {
		if i%8 > 1 {
			noise[i] = byte(i / 4096)
		}
	}
	return noise
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
)

// BenchmarkAppend measures decompressed bytes per second. into=reused is the steady state of a server that keeps its buffers.
// For comparison, op=reader is klauspost's gzip reader, with a destination of the right size.
//
//	go test -run='^$' -bench=Append -benchtime=2s -count=6 -cpu=1 ./internal/wire/inflate
func BenchmarkAppend(b *testing.B) {
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
			b.Run(fmt.Sprintf("plain=%dKB/op=append/%s", size>>10, c.name), func(b *testing.B) {
				b.SetBytes(int64(len(plain)))
				b.ReportAllocs()
				var dst []byte
				for b.Loop() {
					out, err := Append(dst[:0], c.src, 64<<20)
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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"bytes"

	"github.com/klauspost/compress/zstd"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// encoders limits the number of profiles that are compressed at the same time. Each encoder has its own memory.
const encoders = 2

// encoder compresses entries. Reading zstd is several times as fast as reading gzip, and the result is not larger. The options
// are valid constants, so there is no error.
var encoder, _ = zstd.NewWriter(nil,
	zstd.WithEncoderConcurrency(encoders),
	zstd.WithEncoderLevel(zstd.SpeedDefault),
	zstd.WithWindowSize(1<<20),
	zstd.WithLowerEncoderMem(true))

// Compress returns a compressed pprof, which inflate.Append decompresses. The result is new memory without spare capacity.
func Compress(pprof []byte) []byte {
	buffer := buffers.Get()
	if buffer == nil {
		buffer = new([]byte)
	}
	*buffer = encoder.EncodeAll(pprof, (*buffer)[:0])
	compressed := bytes.Clone(*buffer)
	buffers.Put(buffer, cap(*buffer))
	return compressed
}

// buffers have the compressed data until its size is known.
var buffers scratch.Keeper[[]byte]

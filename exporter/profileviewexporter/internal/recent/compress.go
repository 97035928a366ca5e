// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"bytes"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// encoders is how many profiles are compressed at a time; each takes memory of its own.
const encoders = 2

// encoder makes what is held: zstd is read several times as fast as gzip, and no larger. The options are constants and
// in range, so there is no error.
var encoder, _ = zstd.NewWriter(nil,
	zstd.WithEncoderConcurrency(encoders),
	zstd.WithEncoderLevel(zstd.SpeedDefault),
	zstd.WithWindowSize(1<<20),
	zstd.WithLowerEncoderMem(true))

// Compress returns a pprof in the form that an entry holds, which inflate.Append undoes. It has no room to spare.
func Compress(pprof []byte) []byte {
	buffer := buffers.Get().(*[]byte)
	*buffer = encoder.EncodeAll(pprof, (*buffer)[:0])
	compressed := bytes.Clone(*buffer)
	if cap(*buffer) <= maxPooledBytes {
		buffers.Put(buffer)
	}
	return compressed
}

// buffers hold what is compressed until its size is known.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxPooledBytes = 1 << 20

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bytes"
	"encoding/binary"

	"github.com/klauspost/compress/zstd"
)

// smallProfile is valid, and says when it was taken: its id is the same whenever it is sent.
func smallProfile() content {
	const taken = 1_795_241_154_000_000_000
	return join(head("main.work"), oneFrame(), onlySample(number(sampleLocation, 1)), number(pprofTime, taken))
}

// emptyMappings is the body that the others of this file wrap.
func emptyMappings() content {
	return join(head(), onlySample(), filling(empty(pprofMapping), inflatedBytes))
}

// pprofWrappings are the same in layers, and layers that cost by themselves.
func pprofWrappings() []body {
	encoded := func(name, encoding string, wire func() []byte) body {
		b := atPprof(name, wire)
		b.headers = []string{"Content-Encoding", encoding}
		return b
	}
	zeros := func() content { return repeat(make([]byte, 1024), 1<<20) }
	return []body{
		atPprof("pprof-gzip-empty-mappings", func() []byte { return gzipped(emptyMappings()) }),
		atPprof("pprof-plain-empty-mappings", func() []byte { return filling(empty(pprofMapping), 19<<20).plain() }),
		encoded("pprof-content-encoding-gzip", "gzip", func() []byte { return gzipped(emptyMappings()) }),
		encoded("pprof-content-encoding-zstd", "zstd", func() []byte { return zstandard(emptyMappings()) }),
		encoded("pprof-gzip-in-content-encoding-zstd", "zstd", func() []byte { return zstandard(literal(gzipped(emptyMappings()))) }),
		atPprof("pprof-four-layers", func() []byte {
			return gzipped(literal(zstandard(literal(gzipped(literal(zstandard(emptyMappings())))))))
		}),
		atPprof("pprof-gzip-bomb-1-gib", func() []byte { return gzipped(zeros()) }),
		atPprof("pprof-zstd-bomb-1-gib", func() []byte { return zstandard(zeros()) }),
		atPprof("pprof-gzip-members", func() []byte { return repeat(gzipped(nil), 500_000).plain() }),
		atPprof("pprof-gzip-members-of-64-kib", func() []byte {
			return join(literal(gzipped(join(head(), onlySample()))), repeat(gzipped(repeat([]byte{0x1a, 0}, 32<<10)), 1000)).plain()
		}),
		atPprof("pprof-zstd-empty-frames", func() []byte { return repeat(zstandard(literal([]byte{0})), 500_000).plain() }),
		atPprof("pprof-zstd-skippable-frames", func() []byte {
			skipped := []byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}
			return join(repeat(skipped, 2_000_000), literal(zstandard(smallProfile()))).plain()
		}),
		atPprof("pprof-zstd-window-of-512-mib", func() []byte {
			return zstandard(emptyMappings(), zstd.WithWindowSize(zstd.MaxWindowSize))
		}),
		atPprof("pprof-zstd-claims-1-tib", claimedSize),
		encoded("pprof-zstd-claims-1-tib-content-encoding", "zstd", claimedSize),
	}
}

// claimedSize is a frame of zstd whose header claims a window of a gibibyte and a content of a tebibyte.
func claimedSize() []byte {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0b11000000, 20 << 3}
	frame = binary.LittleEndian.AppendUint64(frame, 1<<40)
	// Blocks of one repeated byte, as long as a block may be.
	const blockBytes = 128 << 10
	block := blockBytes<<3 | 1<<1
	return append(frame, bytes.Repeat([]byte{byte(block), byte(block >> 8), byte(block >> 16), 0x1a}, 10_000)...)
}

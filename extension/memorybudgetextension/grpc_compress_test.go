// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"bytes"
	"os"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/encoding"

	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

// TestCompress: messages that are compressed at a time and one after the other are whole, and have the size of level 1.
func TestCompress(t *testing.T) {
	payload, err := os.ReadFile("../../testdata/pprof/cpu.pb.gz")
	require.NoError(t, err)
	message, err := inflate.Append(nil, payload, 1<<20)
	require.NoError(t, err)
	var fastGzip bytes.Buffer
	w, err := gzip.NewWriterLevel(&fastGzip, 1)
	require.NoError(t, err)
	_, _ = w.Write(message)
	require.NoError(t, w.Close())
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(1)))
	require.NoError(t, err)
	for name, want := range map[string]int{"gzip": fastGzip.Len(), "zstd": len(e.EncodeAll(message, nil))} {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 4 {
					var compressed bytes.Buffer
					w, err := encoding.GetCompressor(name).Compress(&compressed)
					if !assert.NoError(t, err) {
						return
					}
					_, _ = w.Write(message[:1000])
					_, _ = w.Write(message[1000:])
					assert.NoError(t, w.Close())
					assert.InEpsilon(t, want, compressed.Len(), 0.01, name)
					plain, err := inflate.Append(nil, compressed.Bytes(), 1<<20)
					assert.NoError(t, err)
					assert.True(t, bytes.Equal(message, plain), name)
				}
			})
		}
		all.Wait()
	}
}

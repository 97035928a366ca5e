// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package inflate

import (
	"bytes"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAllocatesNothing: with a large enough destination, a call allocates nothing. The race detector empties pools at
// random, so this file is not built with it.
func TestAllocatesNothing(t *testing.T) {
	plain := bytes.Repeat(randomBytes(1000), 200)
	for name, src := range map[string][]byte{
		"plain":        plain,
		"gzip":         gzipped(t, plain),
		"zstd":         zstdAll(t, plain),
		"zstd stream":  zstdStream(t, bytes.NewReader(plain)),
		"zstd in gzip": gzipped(t, zstdAll(t, plain)),
	} {
		dst, err := plainOf(nil, src, testLimit)
		require.NoError(t, err)
		dst = dst[:0]
		got := testing.AllocsPerRun(100, func() {
			if _, err := plainOf(dst, src, testLimit); err != nil {
				t.Error(err)
			}
		})
		assert.Less(t, got, 1.0, name)
	}
}

// TestOneAllocation: without a destination, a payload with an ordinary compression ratio needs one allocation.
func TestOneAllocation(t *testing.T) {
	plain := bytes.Repeat(randomBytes(1000), 200)[:20_000]
	for name, src := range map[string][]byte{"gzip": gzipped(t, join(plain, randomBytes(5000))), "zstd": zstdAll(t, plain)} {
		got := testing.AllocsPerRun(100, func() {
			if _, err := plainOf(nil, src, testLimit); err != nil {
				t.Error(err)
			}
		})
		assert.Less(t, got, 2.0, name)
	}
}

// TestKeepsNoResult: pooled readers do not keep the result alive, which nobody would count.
func TestKeepsNoResult(t *testing.T) {
	plain := profileLike(testLimit)
	for name, src := range map[string][]byte{
		"gzip":         gzipped(t, plain),
		"zstd":         zstdAll(t, plain),
		"zstd stream":  zstdStream(t, bytes.NewReader(plain)),
		"cut off zstd": zstdAll(t, plain)[:testLimit/8],
		"zstd in gzip": gzipped(t, zstdAll(t, plain)),
	} {
		t.Run(name, func(t *testing.T) {
			dst := make([]byte, testLimit)
			result := weak.Make(&dst[0])
			_, _ = plainOf(dst[:0], src, testLimit)
			runtime.GC() // It empties no pool: their content stays until the next one.
			assert.Nil(t, result.Value(), "the result is still referred to")
			runtime.KeepAlive(&zstdReaders)
		})
	}
}

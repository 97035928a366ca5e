// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

func gunzip(t *testing.T, compressed []byte) []byte {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	require.NoError(t, err)
	plain, err := io.ReadAll(reader)
	require.NoError(t, err)
	return plain
}

// TestAppendGzip: every level, with an empty destination and with one that has content. The standard library reads the
// result.
func TestAppendGzip(t *testing.T) {
	sizes := map[int]int{}
	plain := bytes.Repeat(codeMessagePprof(t), 50)
	for _, content := range [][]byte{nil, []byte("x"), plain} {
		for level := range 10 {
			compressed, err := pprof.AppendGzip(nil, content, level)
			require.NoError(t, err)
			assert.Equal(t, string(content), string(gunzip(t, compressed)))
			sizes[level] = len(compressed)

			behind, err := pprof.AppendGzip([]byte("before"), content, level)
			require.NoError(t, err)
			assert.Equal(t, append([]byte("before"), compressed...), behind)
		}
	}
	assert.Equal(t, sizes[6], sizes[0], "0 is the default, 6")
	assert.GreaterOrEqual(t, sizes[1], sizes[9])
}

func codeMessagePprof(t *testing.T) []byte {
	t.Helper()
	return encode(t, codeMessage().done(), pprof.EncodeOptions{})[0].Pprof
}

func TestAppendGzipRefusesLevels(t *testing.T) {
	for _, level := range []int{-3, -2, -1, 10, 100} {
		got, err := pprof.AppendGzip([]byte("before"), []byte("x"), level)
		require.ErrorContains(t, err, "is not between 1 and 9")
		assert.Equal(t, "before", string(got))
	}
}

// TestAppendGzipAtTheSameTime: concurrent calls share writers, but not output.
func TestAppendGzipAtTheSameTime(t *testing.T) {
	var group sync.WaitGroup
	for worker := range byte(8) {
		group.Go(func() {
			content := bytes.Repeat([]byte{worker}, 1000*int(worker+1))
			for range 20 {
				compressed, err := pprof.AppendGzip(nil, content, 1)
				assert.NoError(t, err)
				assert.Equal(t, content, gunzip(t, compressed))
			}
		})
	}
	group.Wait()
}

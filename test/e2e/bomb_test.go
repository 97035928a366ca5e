// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	bombBytes = 1 << 30
	// memoryLimit is what the whole process may ever hold while it refuses bombs.
	memoryLimit = 200 << 20
)

// zeros is an endless reader of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestBombs sends a gibibyte in about a megabyte, in several wrappings.
func TestBombs(t *testing.T) {
	gzipBomb := compress(t, newGzip, io.LimitReader(zeros{}, bombBytes))
	zstdBomb := compress(t, newZstd, io.LimitReader(zeros{}, bombBytes))
	nested := compress(t, newGzip, bytes.NewReader(gzipBomb))
	t.Logf("gzip %d bytes, zstd %d bytes, gzip in gzip %d bytes", len(gzipBomb), len(zstdBomb), len(nested))

	g := start(t)
	g.accept(t, "?service.name=before", readProfile(t, "cpu"))
	g.waitForFiles(t, 1)

	bombs := []struct {
		name    string
		body    []byte
		headers []string
	}{
		{name: "gzip", body: gzipBomb},
		{name: "zstd", body: zstdBomb},
		{name: "gzip in gzip", body: nested},
		{name: "gzip in zstd", body: compress(t, newZstd, bytes.NewReader(gzipBomb))},
		{name: "zstd in gzip", body: compress(t, newGzip, bytes.NewReader(zstdBomb))},
		{name: "Content-Encoding gzip", body: gzipBomb, headers: []string{"Content-Encoding", "gzip"}},
		{name: "Content-Encoding zstd", body: zstdBomb, headers: []string{"Content-Encoding", "zstd"}},
		{name: "gzip in Content-Encoding gzip", body: nested, headers: []string{"Content-Encoding", "gzip"}},
	}
	// The second round finds the pools as the first one left them.
	for _, round := range []string{"first", "second"} {
		for _, bomb := range bombs {
			t.Run(bomb.name+" "+round, func(t *testing.T) {
				got := g.post(t, "", bomb.body, bomb.headers...)
				assert.Equal(t, http.StatusRequestEntityTooLarge, got.status, got.text)
				assert.Less(t, g.process(t).Peak, int64(memoryLimit), "peak of the resident memory")
			})
		}
	}
	t.Run("four at once", func(t *testing.T) {
		var senders sync.WaitGroup
		for range 4 {
			senders.Go(func() {
				response, err := g.client.Post("http://"+g.intake+"/v1/pprof", "", bytes.NewReader(gzipBomb))
				if assert.NoError(t, err) {
					assert.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
					response.Body.Close()
				}
			})
		}
		senders.Wait()
		assert.Less(t, g.process(t).Peak, int64(memoryLimit), "peak of the resident memory")
	})
	g.waitForMetric(t, float64(2*len(bombs)+4), "otelcol_receiver_pprof_refusals", `reason="too_large"`)
	assert.Len(t, g.files(t), 1)
	t.Logf("peak of the resident memory: %d MiB", g.process(t).Peak>>20)
}

func newGzip(w io.Writer) (io.WriteCloser, error) {
	return gzip.NewWriterLevel(w, gzip.BestCompression)
}

func newZstd(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
}

func compress(t *testing.T, newWriter func(io.Writer) (io.WriteCloser, error), source io.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	writer, err := newWriter(&out)
	require.NoError(t, err)
	_, err = io.Copy(writer, source)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return out.Bytes()
}

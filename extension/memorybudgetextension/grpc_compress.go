// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	_ "go.opentelemetry.io/collector/config/configgrpc" // registers zstd and snappy
	"google.golang.org/grpc/encoding"
)

func init() {
	for _, name := range []string{"gzip", "zstd", "snappy"} {
		if inner := encoding.GetCompressor(name); inner != nil {
			encoding.RegisterCompressor(&compressor{inner, writersOf[name]})
		}
	}
}

// compressor leaves the messages of a server with a [bufferPool] compressed, for its codec to decompress within the budget. gRPC cannot
// stop in the middle of decompressing. It registers compressors for the whole process: for all others it is the embedded compressor, but
// compresses at the fastest level.
type compressor struct {
	encoding.Compressor
	writers *sync.Pool // none for snappy, which has no level
}

// Decompress returns a reader of the message.
func (c *compressor) Decompress(compressed io.Reader) (io.Reader, error) {
	return &received{compressor: c, compressed: compressed}, nil
}

// received is a message that has arrived. The first Read tells who reads, by the size of its buffer.
type received struct {
	*compressor
	compressed, from io.Reader
}

// Read reads the compressed message for the codec of a server, and the plain one for all others.
func (r *received) Read(p []byte) (n int, err error) {
	switch {
	case r.from != nil:
	case len(p) == compressedBytes:
		r.from = r.compressed
	default:
		if r.from, err = r.Compressor.Decompress(r.compressed); err != nil {
			return 0, err
		}
	}
	return r.from.Read(p)
}

// Close closes what it reads from.
func (r *received) Close() error {
	if closer, ok := r.from.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// resettable is a writer that compresses, of gzip or zstd.
type resettable interface {
	io.WriteCloser
	Reset(to io.Writer)
}

// writersOf has compressing writers that are not in use. gRPC offers no level, and its own gzip takes seven to ten times the CPU time of
// level 1 here, which makes a profile a fifth larger.
var writersOf = map[string]*sync.Pool{
	"gzip": {New: func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // The level is valid.
		return w
	}},
	"zstd": {New: func() any {
		w, _ := zstd.NewWriter(nil, append(slices.Clone(fastZstd), zstd.WithEncoderConcurrency(1))...) // The options are valid.
		return w
	}},
}

// fastZstd is level 1, with the window that the Collector has for gRPC.
var fastZstd = []zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(512 << 10), zstd.WithLowerEncoderMem(true)}

// Compress returns a writer that compresses a message at the fastest level. Its Close ends the message.
func (c *compressor) Compress(to io.Writer) (io.WriteCloser, error) {
	if c.writers == nil {
		return c.Compressor.Compress(to)
	}
	w := c.writers.Get().(resettable)
	w.Reset(to)
	return &messageWriter{w, c.writers}, nil
}

// messageWriter compresses one message.
type messageWriter struct {
	resettable
	from *sync.Pool
}

// Close ends the message. The writer must not be used afterwards: others use it.
func (m *messageWriter) Close() error {
	err := m.resettable.Close()
	m.Reset(nil) // It must not hold the message.
	m.from.Put(m.resettable)
	return err
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// resettable is a writer that compresses, of gzip or zstd.
type resettable interface {
	io.WriteCloser
	Reset(to io.Writer)
}

// writers are compressing writers that are not in use. gRPC offers no level, and its own gzip takes seven to ten times the CPU time of
// level 1 here, which makes a profile a fifth larger.
type writers struct{ sync.Pool }

var writersOf = map[string]*writers{
	"gzip": newWriters(func() resettable {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // The level is valid.
		return w
	}),
	"zstd": newWriters(func() resettable {
		w, _ := zstd.NewWriter(nil, append(slices.Clone(fastZstd), zstd.WithEncoderConcurrency(1))...) // The options are valid.
		return w
	}),
}

// fastZstd is level 1, with the window that the Collector has for gRPC.
var fastZstd = []zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(512 << 10), zstd.WithLowerEncoderMem(true)}

func newWriters(create func() resettable) *writers {
	return &writers{sync.Pool{New: func() any { return create() }}}
}

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
	from *writers
}

// Close ends the message. The writer must not be used afterwards: others use it.
func (m *messageWriter) Close() error {
	err := m.resettable.Close()
	m.Reset(nil) // It must not hold the message.
	m.from.Put(m.resettable)
	return err
}

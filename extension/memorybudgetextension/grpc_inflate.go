// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/golang/snappy"
	_ "go.opentelemetry.io/collector/config/configgrpc" // registers zstd and snappy
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

// activeServer is the server whose budget the compressors use. It is global, since gRPC registers compressors for the whole
// process.
var activeServer atomic.Pointer[grpcServer]

// inflatedMessages passes each decompressed message from the compressor to the codec, which gRPC calls next. gRPC gets a
// buffer of one byte instead of the message; the address of that byte is the key.
var inflatedMessages sync.Map // of *byte to *inflatedMessage

func init() {
	for name, inflate := range map[string]inflater{gzip.Name: inflateAll, "zstd": inflateAll, "snappy": inflateSnappy} {
		if inner := encoding.GetCompressor(name); inner != nil {
			encoding.RegisterCompressor(&compressor{Compressor: inner, inflate: inflate, writers: writersOf[name]})
		}
	}
}

// inflater decompresses up to limit bytes.
type inflater func(compressed []byte, limit int, work *meter.Meter) ([]byte, error)

// compressor decompresses the messages of the active server within its budget, and for clients as the embedded compressor does. It
// compresses at the fastest level.
type compressor struct {
	encoding.Compressor
	inflate inflater
	writers *writers // none for snappy, which has no level
}

// Decompress returns a reader of the plain message.
func (c *compressor) Decompress(r io.Reader) (io.Reader, error) {
	return &inflatingReader{compressor: c, compressed: r}, nil
}

// inflatingReader decompresses on the first Read. Only then is it known who reads: the active server uses buffers of
// placeholderBytes, and clients do not.
type inflatingReader struct {
	compressor *compressor
	compressed io.Reader
	plain      io.Reader // only for a client
	done       bool
}

// inflatedMessage is the decompressed form of a message, or the error.
type inflatedMessage struct {
	plain       []byte
	err         error
	reservation *memory.Reservation
}

// Read reads the decompressed message of a client. For the server it decompresses the whole message and returns one byte,
// see [inflatedMessages].
func (i *inflatingReader) Read(p []byte) (n int, err error) {
	if i.done {
		return 0, io.EOF
	}
	if server := activeServer.Load(); i.plain == nil && server != nil && len(p) == placeholderBytes {
		i.done = true
		p[0] = 0
		inflatedMessages.Store(&p[0], server.inflateMessage(i.compressor.inflate, i.compressed))
		return 1, nil
	}
	if i.plain == nil {
		if i.plain, err = i.compressor.Compressor.Decompress(i.compressed); err != nil {
			return 0, err
		}
	}
	return i.plain.Read(p)
}

// Close closes the reader of a client.
func (i *inflatingReader) Close() error {
	if closer, ok := i.plain.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// inflateMessage decompresses a message that has arrived. The reservation includes the compressed message.
func (s *grpcServer) inflateMessage(inflate inflater, compressed io.Reader) *inflatedMessage {
	ctx := context.Background() // A compressor gets no context. The wait of the budget limits the time.
	if closer, ok := compressed.(io.Closer); ok {
		defer closer.Close() // This gives its buffers back to the pool.
	}
	size := remainingBytes(compressed)
	reservation, err := s.budget.Reserve(ctx, size)
	if err != nil {
		return &inflatedMessage{err: err}
	}
	whole := make([]byte, size)
	if _, err = io.ReadFull(compressed, whole); err != nil {
		return &inflatedMessage{err: err, reservation: reservation}
	}
	work := reservation.Meter(ctx, size)
	plain, err := inflate(whole, s.config.MaxInflatedMiB<<20, work)
	return &inflatedMessage{plain: plain, err: err, reservation: reservation}
}

// remainingBytes returns how many bytes a reader of gRPC still has.
func remainingBytes(r io.Reader) int64 {
	if sized, ok := r.(interface{ Remaining() int }); ok {
		return int64(sized.Remaining())
	}
	return 0
}

func inflateAll(compressed []byte, limit int, work *meter.Meter) ([]byte, error) {
	plain, _, err := inflate.AppendMetered(nil, compressed, limit, work)
	return plain, err
}

// inflateSnappy decompresses the framing format of snappy, which gRPC uses.
func inflateSnappy(compressed []byte, limit int, work *meter.Meter) ([]byte, error) {
	plain, err := inflate.ReadAll(snappy.NewReader(bytes.NewReader(compressed)), limit, work)
	if err == nil || errors.Is(err, inflate.ErrTooLarge) || work.Err() != nil {
		return plain, err
	}
	return nil, fmt.Errorf("cannot inflate snappy: %w: %w", inflate.ErrCorrupt, err)
}

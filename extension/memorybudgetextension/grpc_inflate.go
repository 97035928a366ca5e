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

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/inflate"
)

// activeServer is the one whose messages are inflated within the budget. gRPC has its compressors for the whole process.
var activeServer atomic.Pointer[grpcServer]

// inflatedMessages has what came out of compressed messages, by the first byte of the buffer that stands for it, from the
// compressor to the codec, which is called next.
var inflatedMessages sync.Map // of *byte to *inflated

func init() {
	for name, inflate := range map[string]inflater{gzip.Name: inflateAll, "zstd": inflateAll, "snappy": inflateSnappy} {
		if inner := encoding.GetCompressor(name); inner != nil {
			encoding.RegisterCompressor(&compressor{Compressor: inner, inflate: inflate})
		}
	}
}

// inflater inflates compressed, up to limit bytes, and asks grow before it takes memory, with all that it has by then.
type inflater func(compressed []byte, limit int, grow func(bytes int) error) ([]byte, error)

// compressor inflates the messages of a server within its budget. For clients it is the one inside.
type compressor struct {
	encoding.Compressor
	inflate inflater
}

// Decompress returns a reader of the plain message.
func (c *compressor) Decompress(r io.Reader) (io.Reader, error) {
	return &inflating{compressor: c, compressed: r}, nil
}

// inflating inflates when it is read: only then it is known who reads.
type inflating struct {
	compressor *compressor
	compressed io.Reader
	plain      io.Reader // of a client
	done       bool
}

// inflated is what came out of a message: it is handed to the codec past gRPC, which gets one byte that stands for it.
type inflated struct {
	plain       []byte
	err         error
	reservation *budget.Reservation
}

// Read reads the message of a client. For the server it inflates all at once.
func (i *inflating) Read(p []byte) (n int, err error) {
	if i.done {
		return 0, io.EOF
	}
	if server := activeServer.Load(); i.plain == nil && server != nil && len(p) == inflatedBytes {
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
func (i *inflating) Close() error {
	if closer, ok := i.plain.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// inflateMessage inflates a message that has arrived. The reservation has the plain message, and the room of another
// such one for unmarshalling.
func (s *grpcServer) inflateMessage(inflate inflater, compressed io.Reader) *inflated {
	ctx := context.Background() // A compressor has none. The wait of the budget ends it.
	if closer, ok := compressed.(io.Closer); ok {
		defer closer.Close() // It has references to buffers.
	}
	size := sizeOf(compressed)
	reservation, err := s.budget.Reserve(ctx, requestBytes+size)
	if err != nil {
		return &inflated{err: err}
	}
	whole := make([]byte, size)
	if _, err = io.ReadFull(compressed, whole); err != nil {
		return &inflated{err: err, reservation: reservation}
	}
	plain, err := inflate(whole, s.config.MaxInflatedMiB<<20, func(bytes int) error {
		return reservation.Grow(ctx, requestBytes+size+int64(bytes))
	})
	return &inflated{plain: plain, err: err, reservation: reservation}
}

// sizeOf is what a reader of gRPC has left.
func sizeOf(r io.Reader) int64 {
	if sized, ok := r.(interface{ Remaining() int }); ok {
		return int64(sized.Remaining())
	}
	return 0
}

func inflateAll(compressed []byte, limit int, grow func(bytes int) error) ([]byte, error) {
	return inflate.AppendReserving(nil, compressed, limit, grow)
}

// inflateSnappy inflates the framed form of snappy, which gRPC uses.
func inflateSnappy(compressed []byte, limit int, grow func(bytes int) error) ([]byte, error) {
	reader := io.LimitReader(snappy.NewReader(bytes.NewReader(compressed)), int64(limit)+1)
	plain := []byte(nil)
	for room := max(len(compressed), smallestPiece); ; room = 2 * len(plain) {
		if err := grow(len(plain) + room); err != nil {
			return nil, err
		}
		plain = append(make([]byte, 0, room), plain...)
		n, err := io.ReadFull(reader, plain[len(plain):room])
		plain = plain[:len(plain)+n]
		switch {
		case len(plain) > limit:
			return nil, fmt.Errorf("%w: more than %d bytes after decompression", inflate.ErrTooLarge, limit)
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return plain, nil
		case err != nil:
			return nil, fmt.Errorf("cannot inflate snappy: %w: %w", inflate.ErrCorrupt, err)
		}
	}
}

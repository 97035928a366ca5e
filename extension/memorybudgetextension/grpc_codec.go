// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/golang/snappy"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/internal/wire/otlpwire"
)

// grpcServer has the hooks of a gRPC server. It is the codec and the handler of events as well.
type grpcServer struct {
	encoding.CodecV2 // that of pdata
	*memoryBudget
	pool *bufferPool
	// admissions passes the admission of each message from the codec to its call, see HandleRPC. The key is the message.
	admissions sync.Map
}

// admission is the result of the codec for one message.
type admission struct {
	reservation *memory.Reservation
	err         error
}

var (
	_ encoding.CodecV2 = (*grpcServer)(nil)
	_ stats.Handler    = (*grpcServer)(nil)
)

// signals maps the names of the OTLP request messages to their signals.
var signals = map[string]otlpwire.Signal{
	"ExportLogsServiceRequest":     otlpwire.Logs,
	"ExportTraceServiceRequest":    otlpwire.Traces,
	"ExportMetricsServiceRequest":  otlpwire.Metrics,
	"ExportProfilesServiceRequest": otlpwire.Profiles,
}

// Unmarshal unmarshals a message if there is memory for it. The interceptor returns the error of an OTLP message, since gRPC would send
// that of a codec with the code Internal.
func (s *grpcServer) Unmarshal(data mem.BufferSlice, v any) error {
	message := s.budget.Begin()
	if signal, known := signals[reflect.Indirect(reflect.ValueOf(v)).Type().Name()]; known {
		if _, again := s.admissions.Load(v); again {
			return nil // A client may send two messages in a call, which gRPC refuses after both.
		}
		received := framesOf(data)
		s.pool.arriving.Use(-received)      // It has arrived, and may wait.
		defer s.pool.arriving.Use(received) // gRPC puts the frames back now, which subtracts them.
		err := s.admit(signal, data, v, message)
		if err != nil {
			message.Shrink(0)
		}
		s.admissions.Store(v, &admission{message, err})
		return nil
	}
	defer message.Release()
	plain, err := s.open(data, message)
	if err != nil {
		return err
	}
	return s.CodecV2.Unmarshal(mem.BufferSlice{mem.SliceBuffer(plain)}, v)
}

// admit unmarshals a message if there is memory for it, which it reserves.
func (s *grpcServer) admit(signal otlpwire.Signal, data mem.BufferSlice, v any, message *memory.Reservation) error {
	plain, err := s.open(data, message)
	if err != nil {
		return err
	}
	counted, err := otlpwire.Count(signal, plain)
	if err != nil {
		return err
	}
	if err := message.Grow(context.Background(), messageMemory(message.Bytes(), counted)); err != nil {
		return err
	}
	if signal == otlpwire.Profiles {
		otlpwire.ClearKeyReferences(plain) // The buffer is that of this message alone.
	}
	if err := s.CodecV2.Unmarshal(mem.BufferSlice{mem.SliceBuffer(plain)}, v); err != nil {
		return fmt.Errorf("%w: %w", otlpwire.ErrMalformed, err)
	}
	message.Shrink(memory.MessageFactor * counted)
	return nil
}

// open returns a message in one piece and decompressed. The reservation has the copies that were made. A codec gets no context. The wait of
// the budget limits the time.
func (s *grpcServer) open(data mem.BufferSlice, message *memory.Reservation) (plain []byte, err error) {
	copied := int64(0)
	if len(data) > 1 {
		copied = int64(data.Len())
	}
	if err := message.Grow(context.Background(), copied); err != nil {
		return nil, err
	}
	buffer := data.MaterializeToBuffer(mem.NopBufferPool{})
	defer buffer.Free() // It is that of data, or garbage after the message.
	whole := buffer.ReadOnlyData()
	work, limit := message.Meter(context.Background(), copied), s.config.MaxInflatedMiB<<20
	if bytes.HasPrefix(whole, []byte(snappyMagic)) {
		plain, err = inflateSnappy(whole, limit, work)
	} else {
		plain, _, err = inflate.Open(new([]byte), whole, limit, work)
	}
	return plain, err
}

// framesOf returns the capacity of the frames of a message. A compressed one is a copy.
func framesOf(data mem.BufferSlice) (bytes int64) {
	for _, buffer := range data {
		if capacity := int64(cap(buffer.ReadOnlyData())); isFrame(capacity) {
			bytes += capacity
		}
	}
	return bytes
}

// snappyMagic begins the framing format of snappy, which gRPC uses. No message begins with it: there is no wire type 7.
const snappyMagic = "\xff\x06\x00\x00sNaPpY"

func inflateSnappy(compressed []byte, limit int, work *meter.Meter) ([]byte, error) {
	plain, err := inflate.ReadAll(snappy.NewReader(bytes.NewReader(compressed)), limit, work)
	if err == nil || errors.Is(err, inflate.ErrTooLarge) || work.Err() != nil {
		return plain, err
	}
	return nil, fmt.Errorf("cannot inflate snappy: %w: %w", inflate.ErrCorrupt, err)
}

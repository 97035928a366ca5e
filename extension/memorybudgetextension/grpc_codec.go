// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/wire/otlpwire"
)

// grpcServer has the hooks of a gRPC server. It is the codec as well.
type grpcServer struct {
	*memoryBudget
	pool *bufferPool
	// next is the codec of pdata.
	next encoding.CodecV2
	// admissions passes the admission of each message from the codec to its call, see [calls]. The key is the message.
	admissions sync.Map
}

// admission is the result of the codec for one message: a reservation or an error.
type admission struct {
	reservation *memory.Reservation
	// received is the size of the receive buffers, which gRPC keeps until the answer.
	received int64
	err      error
}

var _ encoding.CodecV2 = (*grpcServer)(nil)

func newGRPCServer(m *memoryBudget) *grpcServer {
	return &grpcServer{memoryBudget: m, pool: newBufferPool(m.budget), next: encoding.GetCodecV2(proto.Name)}
}

// Name returns the name of the codec of pdata.
func (s *grpcServer) Name() string { return s.next.Name() }

// Marshal marshals an answer with the codec of pdata.
func (s *grpcServer) Marshal(v any) (mem.BufferSlice, error) { return s.next.Marshal(v) }

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
	content, inflated := takeInflated(data)
	if !inflated {
		content = &inflatedMessage{}
	}
	signal, known := signals[reflect.Indirect(reflect.ValueOf(v)).Type().Name()]
	switch {
	case known:
		received := receivedBytes(data, inflated)
		s.pool.arriving.Add(-received) // It has arrived.
		message, err := s.admit(signal, data, content, v)
		s.admissions.Store(v, &admission{message, received, err})
		return nil
	case !inflated:
		return s.next.Unmarshal(data, v)
	default:
		defer content.reservation.Release()
		if content.err != nil {
			return content.err
		}
		return s.next.Unmarshal(mem.BufferSlice{mem.SliceBuffer(content.plain)}, v)
	}
}

// takeInflated returns the result of a compressor, if the message was received compressed.
func takeInflated(data mem.BufferSlice) (*inflatedMessage, bool) {
	for _, buffer := range data {
		bytes := buffer.ReadOnlyData()
		if len(bytes) == 0 {
			continue
		}
		found, ok := inflatedMessages.LoadAndDelete(&bytes[0])
		if !ok {
			break
		}
		return found.(*inflatedMessage), true
	}
	return nil, false
}

// admit unmarshals a message if there is memory for it. The pool counts the received bytes, content those that were decompressed.
func (s *grpcServer) admit(signal otlpwire.Signal, data mem.BufferSlice, content *inflatedMessage, v any) (message *memory.Reservation, err error) {
	defer func() {
		if err != nil {
			message.Release()
			message = nil
		}
	}()
	ctx := context.Background() // A codec gets no context. The wait of the budget limits the time.
	message, plain, copied := content.reservation, content.plain, content.reservation.Bytes()
	if content.err != nil {
		return message, content.err
	}
	if message == nil {
		if len(data) > 1 {
			copied = int64(data.Len())
		}
		if message, err = s.budget.Reserve(ctx, copied); err != nil {
			return nil, err
		}
		plain = contiguous(data)
	}
	counted, err := otlpwire.Count(signal, plain)
	if err != nil {
		return message, err
	}
	if err := message.Grow(ctx, messageMemory(copied, counted)); err != nil {
		return message, err
	}
	if signal == otlpwire.Profiles {
		otlpwire.ClearKeyReferences(plain) // The buffer is that of this message alone.
	}
	if err := s.next.Unmarshal(mem.BufferSlice{mem.SliceBuffer(plain)}, v); err != nil {
		return message, fmt.Errorf("%w: %w", otlpwire.ErrMalformed, err)
	}
	message.Shrink(memory.MessageFactor * counted)
	return message, nil
}

// receivedBytes returns the capacity of the buffers from the pool. A placeholder is not counted.
func receivedBytes(data mem.BufferSlice, inflated bool) (bytes int64) {
	if inflated {
		return 0
	}
	for _, buffer := range data {
		bytes += int64(cap(buffer.ReadOnlyData()))
	}
	return bytes
}

// contiguous returns a message in one piece.
func contiguous(data mem.BufferSlice) []byte {
	if len(data) == 1 {
		return data[0].ReadOnlyData()
	}
	return data.Materialize()
}

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

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/otlpwire"
)

// grpcServer has the hooks by which a gRPC server counts and reserves memory. It is the codec as well.
type grpcServer struct {
	*memoryBudget
	pool *bufferPool
	// next is the codec of pdata.
	next encoding.CodecV2
	// outcomes passes the outcome of each message from the codec to the interceptor, which gRPC calls next. The key is the
	// message.
	outcomes sync.Map
}

// outcome is the result of the codec for one message: a reservation or an error.
type outcome struct {
	reservation *budget.Reservation
	// held is the size of the receive buffers, which gRPC keeps until the answer. Their bytes have moved from arrivals to the
	// reservation.
	held int64
	err  error
}

var _ encoding.CodecV2 = (*grpcServer)(nil)

func newGRPCServer(m *memoryBudget) *grpcServer {
	return &grpcServer{memoryBudget: m, pool: newBufferPool(m.arrivals), next: encoding.GetCodecV2(proto.Name)}
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

// Unmarshal reserves memory for a message and unmarshals it. The interceptor returns the error of an OTLP message, since
// gRPC would send that of a codec with the code Internal.
func (s *grpcServer) Unmarshal(data mem.BufferSlice, v any) error {
	o := &outcome{}
	content := contentOf(data, o)
	signal, known := signals[reflect.Indirect(reflect.ValueOf(v)).Type().Name()]
	if !known {
		defer s.release(o)
		if content.err != nil {
			return content.err
		}
		return s.next.Unmarshal(content.buffers(data), v)
	}
	if o.err = content.err; o.err == nil {
		o.err = s.admit(signal, data, content, o, v)
	}
	s.outcomes.Store(v, o)
	return nil
}

// content is the content of a received message.
type content struct {
	// compressed reports whether the message was received compressed. Then plain is the decompressed message or err is set.
	// Otherwise the message is in the data of the codec.
	compressed bool
	plain      []byte
	err        error
}

func (c *content) buffers(data mem.BufferSlice) mem.BufferSlice {
	if c.compressed {
		return mem.BufferSlice{mem.SliceBuffer(c.plain)}
	}
	return data
}

// contentOf looks for the result of a compressor, and moves its reservation to o.
func contentOf(data mem.BufferSlice, o *outcome) content {
	for _, buffer := range data {
		bytes := buffer.ReadOnlyData()
		if len(bytes) == 0 {
			continue
		}
		found, ok := inflatedMessages.LoadAndDelete(&bytes[0])
		if !ok {
			break
		}
		result := found.(*inflatedMessage)
		o.reservation = result.reservation
		return content{plain: result.plain, err: result.err, compressed: true}
	}
	return content{}
}

// admit reserves memory for a message and unmarshals it.
func (s *grpcServer) admit(signal otlpwire.Signal, data mem.BufferSlice, c content, o *outcome, v any) (err error) {
	ctx := context.Background() // A codec gets no context. The wait of the budget limits the time.
	var base, copied int64
	if c.compressed {
		copied = int64(len(c.plain))
	} else {
		base, copied = heldBytes(data), int64(data.Len())
	}
	if o.reservation == nil {
		if o.reservation, err = s.budget.Reserve(ctx, requestBytes+base+2*copied); err != nil {
			return err
		}
	}
	o.held = base
	s.arrivals.adjust(-base)
	plain := c.plain
	if !c.compressed {
		plain = contiguous(data)
	}
	counted, err := otlpwire.Count(signal, plain)
	if err != nil {
		return err
	}
	if err := o.reservation.Grow(ctx, requestBytes+base+2*copied+counted); err != nil {
		return err
	}
	if err := s.next.Unmarshal(mem.BufferSlice{mem.SliceBuffer(plain)}, v); err != nil {
		return fmt.Errorf("%w: %w", otlpwire.ErrMalformed, err)
	}
	o.reservation.Shrink(requestBytes + base + counted)
	o.reservation.Keep(requestBytes)
	return nil
}

// contiguous returns a message in one piece.
func contiguous(data mem.BufferSlice) []byte {
	if len(data) == 1 {
		return data[0].ReadOnlyData()
	}
	return data.Materialize()
}

// heldBytes returns the capacity of the buffers from the pool.
func heldBytes(data mem.BufferSlice) (bytes int64) {
	for _, buffer := range data {
		bytes += int64(cap(buffer.ReadOnlyData()))
	}
	return bytes
}

// release releases the reservation of a message. gRPC frees the receive buffers only after that, so they count as arriving
// again.
func (s *grpcServer) release(o *outcome) {
	s.arrivals.adjust(o.held)
	o.held = 0
	o.reservation.Release()
}

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

// grpcServer takes part in how a server receives messages. It is the codec, too.
type grpcServer struct {
	*memoryBudget
	pool *bufferPool
	// next is the codec of pdata.
	next encoding.CodecV2
	// outcomes has what became of a message, by the message, from the codec to the interceptor, which is called next.
	outcomes sync.Map
}

// outcome is what became of a message: an error, or a reservation.
type outcome struct {
	reservation *budget.Reservation
	// held are bytes that have arrived and are kept until the answer. The reservation has them now.
	held int64
	err  error
}

var _ encoding.CodecV2 = (*grpcServer)(nil)

func newGRPCServer(m *memoryBudget) *grpcServer {
	return &grpcServer{memoryBudget: m, pool: newBufferPool(m.arrivals), next: encoding.GetCodecV2(proto.Name)}
}

// Name is that of the codec of pdata.
func (s *grpcServer) Name() string { return s.next.Name() }

// Marshal is that of pdata.
func (s *grpcServer) Marshal(v any) (mem.BufferSlice, error) { return s.next.Marshal(v) }

// signals are the messages that the OTLP receiver takes.
var signals = map[string]otlpwire.Signal{
	"ExportLogsServiceRequest":     otlpwire.Logs,
	"ExportTraceServiceRequest":    otlpwire.Traces,
	"ExportMetricsServiceRequest":  otlpwire.Metrics,
	"ExportProfilesServiceRequest": otlpwire.Profiles,
}

// Unmarshal reserves what a message takes, and unmarshals it if that can be. An error is left to the interceptor: those
// of codecs are Internal to the sender.
func (s *grpcServer) Unmarshal(data mem.BufferSlice, v any) error {
	o := &outcome{}
	content := take(data, o)
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

// content is a message that has arrived.
type content struct {
	plain []byte // if it came compressed
	err   error
	// compressed says that plain is the message, else the data is.
	compressed bool
}

func (c *content) buffers(data mem.BufferSlice) mem.BufferSlice {
	if c.compressed {
		return mem.BufferSlice{mem.SliceBuffer(c.plain)}
	}
	return data
}

// take finds what a compressor has left for the codec.
func take(data mem.BufferSlice, o *outcome) content {
	for _, buffer := range data {
		bytes := buffer.ReadOnlyData()
		if len(bytes) == 0 {
			continue
		}
		found, ok := inflatedMessages.LoadAndDelete(&bytes[0])
		if !ok {
			break
		}
		result := found.(*inflated)
		o.reservation = result.reservation
		return content{plain: result.plain, err: result.err, compressed: true}
	}
	return content{}
}

// admit reserves and unmarshals.
func (s *grpcServer) admit(signal otlpwire.Signal, data mem.BufferSlice, c content, o *outcome, v any) (err error) {
	ctx := context.Background() // A codec has none. The wait of the budget ends it.
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
	s.arrivals.change(-base)
	plain := c.plain
	if !c.compressed {
		plain = contiguous(data)
	}
	counted, err := otlpwire.Count(signal, plain, s.config.MaxNesting)
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
	return nil
}

// contiguous returns a message in one piece.
func contiguous(data mem.BufferSlice) []byte {
	if len(data) == 1 {
		return data[0].ReadOnlyData()
	}
	return data.Materialize()
}

// heldBytes is the memory of buffers of the pool.
func heldBytes(data mem.BufferSlice) (bytes int64) {
	for _, buffer := range data {
		bytes += int64(cap(buffer.ReadOnlyData()))
	}
	return bytes
}

// release gives back what a message had. Its buffers are freed after that, as those of something that arrives.
func (s *grpcServer) release(o *outcome) {
	s.arrivals.change(o.held)
	o.held = 0
	o.reservation.Release()
}

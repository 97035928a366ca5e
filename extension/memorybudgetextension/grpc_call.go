// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"

	"google.golang.org/grpc/stats"

	"github.com/otelpprof/otelpprof/internal/memory"
)

// calls gives each call the admission of its message, and releases that when the call has ended. gRPC unmarshals a message as soon as it
// has arrived, but calls interceptors only if the client then ends its side of the stream.
type calls struct{ *grpcServer }

var _ stats.Handler = calls{}

// call is one call. Its fields are set by the events of its stream, which are in one goroutine.
type call struct {
	message   any
	admission *admission
}

type callKey struct{}

// TagRPC is called for each new stream.
func (calls) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, callKey{}, &call{})
}

// HandleRPC is called with each event of a stream.
func (s calls) HandleRPC(ctx context.Context, event stats.RPCStats) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return
	}
	switch event := event.(type) {
	case *stats.InPayload:
		if arriving, ok := ctx.Value(arrivalKey{}).(*memory.Arrival); ok {
			arriving.End()
		}
		c.message, c.admission = event.Payload, s.take(event.Payload)
	case *stats.End:
		s.release(c.admission)
		s.release(s.take(c.message)) // A client may send two messages, which gRPC refuses after both.
	}
}

// TagConn does nothing.
func (calls) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (calls) HandleConn(context.Context, stats.ConnStats) {}

// take returns the admission of a message and forgets it, or returns nil.
func (s *grpcServer) take(message any) *admission {
	found, _ := s.admissions.LoadAndDelete(message)
	taken, _ := found.(*admission)
	return taken
}

// release releases the memory of a message.
func (s *grpcServer) release(a *admission) {
	if a != nil {
		a.reservation.Release()
		s.pool.arriving.Add(a.received) // gRPC puts the buffers back soon, which subtracts them again.
	}
}

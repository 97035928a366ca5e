// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"

	"google.golang.org/grpc/stats"
)

// admittedRequests releases the admissions of streams that end before an interceptor is called. gRPC unmarshals a message as soon as it
// has arrived, and calls the interceptors only when the client has ended its side of the stream, with one message.
type admittedRequests struct{ *grpcServer }

var _ stats.Handler = admittedRequests{}

type requestKey struct{}

// TagRPC is called for each new stream.
func (admittedRequests) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, requestKey{}, new(any))
}

// HandleRPC is called with each event of a stream, in its goroutine.
func (a admittedRequests) HandleRPC(ctx context.Context, event stats.RPCStats) {
	request, ok := ctx.Value(requestKey{}).(*any)
	if !ok {
		return
	}
	switch event := event.(type) {
	case *stats.InPayload:
		*request = event.Payload
	case *stats.End:
		if *request != nil {
			a.drop(*request)
		}
	}
}

// TagConn does nothing.
func (admittedRequests) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}

// HandleConn does nothing.
func (admittedRequests) HandleConn(context.Context, stats.ConnStats) {}

// drop releases the admission of a request that no interceptor has taken.
func (s *grpcServer) drop(request any) {
	if found, ok := s.admissions.LoadAndDelete(request); ok {
		s.release(found.(admission))
	}
}

// release releases the memory of a request.
func (s *grpcServer) release(message admission) {
	message.reservation.Release()
	s.pool.arriving.Add(message.received) // gRPC puts the buffers back soon, which subtracts them again.
}

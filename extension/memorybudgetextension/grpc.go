// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/otelpprof/otelpprof/internal/connections"
	"github.com/otelpprof/otelpprof/internal/memory"
)

const (
	// streamWindow limits the bytes that a stream may send before the server reads them. gRPC enlarges the window for the
	// message that it is reading.
	streamWindow = 64 << 10
	// connectionWindow is the same limit for a connection. It may be larger, because bufferPool counts the received bytes.
	connectionWindow = 1 << 20
	// connectTimeout is how long a client may take to begin: TLS, and the preface of HTTP/2. A shutdown waits for it, and then up to
	// 5 seconds for clients that do not answer. Both must fit into the 10 seconds of a reload.
	connectTimeout = 2 * time.Second
)

// GetGRPCServerOptions returns the options of servers for OTLP over gRPC.
//
// The buffer pool counts what arrives, and the codec what it decompresses, and the message. gRPC calls both before any interceptor, so the
// errors of the codec are returned later, after authentication.
func (m *memoryBudget) GetGRPCServerOptions(context.Context) ([]grpc.ServerOption, error) {
	server := m.grpc
	return []grpc.ServerOption{
		grpc.InTapHandle(server.begin),
		experimental.BufferPool(server.pool),
		grpc.ForceServerCodecV2(server),
		grpc.StatsHandler(server),
		grpc.UnaryInterceptor(begun),                // before those of the server, such as authentication
		grpc.ChainUnaryInterceptor(server.admitted), // after them
		grpc.ConnectionTimeout(connectTimeout),
		grpc.MaxHeaderListSize(connections.MaxHeaderBytes),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connectionWindow),
	}, nil
}

// call is one call. Its fields are used by one goroutine, that of the events of its stream and of its handler.
type call struct {
	arrival   *memory.Arrival
	message   any
	admission *admission
}

// admitted returns the admission of the message, if it has one. Its key is free then: pdata can use a message again before the call has ended.
func (c *call) admitted(admissions *sync.Map) *admission {
	if found, ok := admissions.LoadAndDelete(c.message); ok {
		c.admission = found.(*admission)
	}
	return c.admission
}

type callKey struct{}

// begin is called for each new stream. It must not wait: meanwhile gRPC neither reads nor writes anything else of the connection. If the context
// that it returns is canceled, gRPC aborts the stream.
func (s *grpcServer) begin(ctx context.Context, stream *tap.Info) (context.Context, error) {
	if err := connections.CheckFields(stream.Header); err != nil {
		return nil, status.Error(codes.ResourceExhausted, err.Error())
	}
	if s.stopping.Err() != nil { // A shutdown must not wait for all streams that a client has sent.
		_, status := s.refuse(ctx, errStopping)
		return nil, status.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	request := s.budget.ArriveCounted(&s.pool.requests, requestBytes, func() {
		s.countRefusal(ctx, exhausted)
		cancel()
	})
	s.pool.begin()
	abortSlow := func() {
		if request.End() {
			s.countRefusal(ctx, tooSlow)
			cancel()
		}
	}
	timeout := time.AfterFunc(s.config.ReceiveTimeout, abortSlow)
	stop := context.AfterFunc(s.stopping, func() { time.AfterFunc(connections.ShutdownGrace, abortSlow) })
	context.AfterFunc(ctx, func() {
		stop()
		timeout.Stop()
		request.Release()
	})
	return context.WithValue(ctx, callKey{}, &call{arrival: request}), nil
}

// HandleRPC is called with each event of a stream. It releases the admission of a message when its call has ended. gRPC unmarshals a
// message as soon as it has arrived, but calls interceptors only if the client then ends its side of the stream.
func (s *grpcServer) HandleRPC(ctx context.Context, event stats.RPCStats) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return
	}
	switch event := event.(type) {
	case *stats.InPayload:
		c.message = event.Payload
		c.arrival.Received()
	case *stats.End:
		if a := c.admitted(&s.admissions); a != nil {
			a.reservation.Release()
		}
	}
}

// TagRPC, TagConn and HandleConn do nothing.
func (*grpcServer) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*grpcServer) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*grpcServer) HandleConn(context.Context, stats.ConnStats)                       {}

// begun says that the stream has ended: the call begins.
func begun(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.arrival.End()
	}
	return next(ctx, request)
}

// admitted passes a message on with its reservation, or returns the error of the codec.
func (s *grpcServer) admitted(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	var a *admission
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		a = c.admitted(&s.admissions)
	}
	if a == nil {
		return next(ctx, request) // It is not an OTLP request.
	}
	if a.err != nil {
		_, status := s.refuse(ctx, a.err)
		return nil, status.Err()
	}
	return next(memory.NewContext(ctx, a.reservation), request)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/tap"

	"github.com/otelpprof/otelpprof/internal/budget"
)

const (
	// maxHeaderBytes is how large the headers of a stream may be. gRPC allows 16 MiB.
	maxHeaderBytes = 64 << 10
	// streamWindow is how much a stream may send that nobody reads. A message that is being read may come as a whole.
	streamWindow = 64 << 10
	// connectionWindow is the same for a connection. What comes is counted, so that it need not be small.
	connectionWindow = 1 << 20
)

// GetGRPCServerOptions returns the options of servers for OTLP over gRPC.
//
// gRPC receives, inflates and unmarshals a message before anything is asked, so that this takes part in each step: the pool
// of buffers counts what arrives, the compressors reserve what comes out, the codec what unmarshalling takes.
// The interceptor, which is the first one, answers for all of them.
func (m *memoryBudget) GetGRPCServerOptions(context.Context) ([]grpc.ServerOption, error) {
	server := m.grpc
	return []grpc.ServerOption{
		grpc.InTapHandle(server.begin),
		experimental.BufferPool(server.pool),
		grpc.ForceServerCodecV2(server),
		grpc.UnaryInterceptor(server.intercept),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connectionWindow),
	}, nil
}

type arrivalKey struct{}

// begin is asked for each new stream. The context that it returns ends the stream.
func (s *grpcServer) begin(ctx context.Context, _ *tap.Info) (context.Context, error) {
	ctx, cancel := context.WithCancel(ctx)
	arriving := s.arrivals.begin(func() {
		s.countRefusal(ctx, exhausted)
		cancel()
	})
	timeout := time.AfterFunc(s.config.ReceiveTimeout, func() {
		if arriving.end() {
			s.countRefusal(ctx, tooSlow)
			cancel()
		}
	})
	context.AfterFunc(ctx, func() {
		timeout.Stop()
		arriving.end()
	})
	return context.WithValue(ctx, arrivalKey{}, arriving), nil
}

// intercept hands a message on with its reservation, or tells why there is none.
func (s *grpcServer) intercept(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if arriving, ok := ctx.Value(arrivalKey{}).(*arrival); ok {
		arriving.end()
	}
	found, ok := s.outcomes.LoadAndDelete(request)
	if !ok {
		return next(ctx, request) // It is none of OTLP.
	}
	outcome := found.(*outcome)
	defer s.release(outcome)
	if outcome.err == nil {
		outcome.err = checkVersion(metadata.ValueFromIncomingContext(ctx, versionHeader))
	}
	if outcome.err != nil {
		_, status := s.refuse(ctx, outcome.err)
		return nil, status.Err()
	}
	return next(budget.NewContext(ctx, outcome.reservation), request)
}

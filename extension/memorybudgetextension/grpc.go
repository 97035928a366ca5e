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
	// maxHeaderBytes limits the headers of a stream. The default of gRPC is 16 MiB.
	maxHeaderBytes = 64 << 10
	// streamWindow limits the bytes that a stream may send before the server reads them. gRPC enlarges the window for the
	// message that it is reading.
	streamWindow = 64 << 10
	// connectionWindow is the same limit for a connection. It may be larger, because bufferPool counts the received bytes.
	connectionWindow = 1 << 20
)

// GetGRPCServerOptions returns the options of servers for OTLP over gRPC.
//
// gRPC receives, decompresses and unmarshals a message before it calls any interceptor. So the extension replaces the parts
// that do this: the buffer pool counts received bytes, the compressors reserve memory for the decompressed message, and the
// codec reserves memory for the unmarshalled one. The errors of all of them are returned after authentication.
func (m *memoryBudget) GetGRPCServerOptions(context.Context) ([]grpc.ServerOption, error) {
	server := m.grpc
	return []grpc.ServerOption{
		grpc.InTapHandle(server.begin),
		experimental.BufferPool(server.pool),
		grpc.ForceServerCodecV2(server),
		grpc.UnaryInterceptor(server.hold),          // the first one
		grpc.ChainUnaryInterceptor(server.admitted), // after those of the server, such as authentication
		grpc.ConnectionTimeout(connectTimeout),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connectionWindow),
	}, nil
}

type arrivalKey struct{}

// begin is called for each new stream. If the context that it returns is canceled, gRPC aborts the stream.
func (s *grpcServer) begin(ctx context.Context, _ *tap.Info) (context.Context, error) {
	ctx, cancel := context.WithCancel(ctx)
	arriving := s.arrivals.begin(func() {
		s.countRefusal(ctx, exhausted)
		cancel()
	})
	abortSlow := func() {
		if arriving.end() {
			s.countRefusal(ctx, tooSlow)
			cancel()
		}
	}
	timeout := time.AfterFunc(s.config.ReceiveTimeout, abortSlow)
	stop := s.onShutdown(abortSlow)
	context.AfterFunc(ctx, func() {
		stop()
		timeout.Stop()
		arriving.end()
	})
	return context.WithValue(ctx, arrivalKey{}, arriving), nil
}

type outcomeKey struct{}

// hold passes a message on with its outcome, and releases the reservation of the message afterwards.
func (s *grpcServer) hold(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if arriving, ok := ctx.Value(arrivalKey{}).(*arrival); ok {
		arriving.end()
	}
	found, ok := s.outcomes.LoadAndDelete(request)
	if !ok {
		return next(ctx, request) // It is not an OTLP request.
	}
	outcome := found.(*outcome)
	defer s.release(outcome)
	return next(context.WithValue(ctx, outcomeKey{}, outcome), request)
}

// admitted passes a message on with its reservation, or returns the error of the codec.
func (s *grpcServer) admitted(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	outcome, ok := ctx.Value(outcomeKey{}).(*outcome)
	if !ok {
		return next(ctx, request)
	}
	if outcome.err == nil {
		outcome.err = checkVersion(metadata.ValueFromIncomingContext(ctx, versionHeader))
	}
	if outcome.err != nil {
		_, status := s.refuse(ctx, outcome.err)
		return nil, status.Err()
	}
	return next(budget.NewContext(ctx, outcome.reservation), request)
}

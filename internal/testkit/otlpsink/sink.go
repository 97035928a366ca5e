// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpsink is a destination of OTLP profiles for tests: a gRPC server on loopback that hands on what it gets, and
// fails as it is told.
package otlpsink // import "github.com/otelpprof/otelpprof/internal/testkit/otlpsink"

import (
	"context"
	"fmt"
	"net"
	"sync"

	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // what exporters compress with by default
	"google.golang.org/grpc/status"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// maxMessageBytes is what a message may have. Exporters join more than gRPC's own 4 MiB.
const maxMessageBytes = 64 << 20

// Sink is a running destination.
type Sink struct {
	pprofileotlp.UnimplementedGRPCServer

	address string
	server  *grpc.Server
	serving sync.WaitGroup

	mu   sync.Mutex
	take func(context.Context, pprofile.Profiles) error
}

// Start listens at an address and calls take for each message; its error is answered as it is, or as Unknown. Any number
// of calls may be under way.
func Start(ctx context.Context, address string, take func(context.Context, pprofile.Profiles) error) (*Sink, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot start a destination: %w", err)
	}
	s := &Sink{address: listener.Addr().String(), server: grpc.NewServer(grpc.MaxRecvMsgSize(maxMessageBytes)), take: take}
	pprofileotlp.RegisterGRPCServer(s.server, s)
	s.serving.Go(func() { _ = s.server.Serve(listener) })
	return s, nil
}

// Address is where the sink listens.
func (s *Sink) Address() string { return s.address }

// Stop cuts all calls off and waits until nothing runs any more.
func (s *Sink) Stop() {
	s.server.Stop()
	s.serving.Wait()
}

// Take changes what becomes of messages from now on.
func (s *Sink) Take(take func(context.Context, pprofile.Profiles) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take = take
}

// Export implements pprofileotlp.GRPCServer.
func (s *Sink) Export(ctx context.Context, request pprofileotlp.ExportRequest) (pprofileotlp.ExportResponse, error) {
	s.mu.Lock()
	take := s.take
	s.mu.Unlock()
	if err := take(ctx, request.Profiles()); err != nil {
		return pprofileotlp.NewExportResponse(), status.Convert(err).Err()
	}
	return pprofileotlp.NewExportResponse(), nil
}

// Send sends messages to an address over gRPC. Each must be taken.
func Send(t require.TestingT, address string, messages ...pprofile.Profiles) {
	connection := must.Get(grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	defer connection.Close()
	for _, pd := range messages {
		_, err := pprofileotlp.NewGRPCClient(connection).Export(context.Background(), pprofileotlp.NewExportRequestFromProfiles(pd))
		require.NoError(t, err)
	}
}

// Delivered returns what a deduplicator with its default options makes of profiles: links without a span become
// attributes.
func Delivered(all ...pprofile.Profiles) []pprofile.Profiles {
	deduplicator := dedup.New(dedup.Options{DropPartialLinks: true})
	delivered := make([]pprofile.Profiles, len(all))
	for i, pd := range all {
		own := pprofile.NewProfiles()
		pd.CopyTo(own)
		delivered[i], _, _ = deduplicator.Deduplicate(own) // it drops what is invalid, and has no error then
	}
	return delivered
}

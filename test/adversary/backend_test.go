// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// backend takes every message of gRPC. It does not unmarshal it: what is hostile to the gateway is hostile to a test.
type backend struct {
	// records says that what comes was in Kafka.
	records bool
	// through is the number of the last honest profile that came through Kafka.
	through atomic.Int64
	// away says that it takes nothing for now.
	away   atomic.Bool
	server *http.Server
}

// startBackend listens at an address until the test ends.
func startBackend(t *testing.T, address string, records bool) *backend {
	t.Helper()
	b := &backend{records: records}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	b.server = &http.Server{Handler: http.HandlerFunc(b.serve), Protocols: protocols}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.server.Serve(listener)
	}()
	t.Cleanup(func() {
		b.server.Close()
		<-done
	})
	return b
}

func (b *backend) serve(w http.ResponseWriter, r *http.Request) {
	if b.records {
		b.look(r.Body)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	w.WriteHeader(http.StatusOK)
	if b.away.Load() {
		w.Header().Set("Grpc-Status", "14")
		return
	}
	_, _ = w.Write(grpcMessage(false, nil))
	w.Header().Set("Grpc-Status", "0")
}

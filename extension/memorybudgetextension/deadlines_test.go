// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"golang.org/x/net/http2"
)

// longer is a time that no test waits for: a shutdown that waits for a stalled client takes longer.
const longer = time.Hour

// sendRaw sends text on a connection that stays open until the test ends.
func (r *running) sendRaw(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Write([]byte(text))
	require.NoError(t, err)
	return c
}

// TestShutdownWithStalledClients: no client that stops sending keeps the receiver from shutting down.
func TestShutdownWithStalledClients(t *testing.T) {
	const post = "POST /v1/logs HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n"
	for name, stall := range map[string]func(t *testing.T, r *running){
		"other media type": func(t *testing.T, r *running) { r.sendRaw(t, r.http, post+"Content-Type: text/plain\r\n\r\n") },
		"protobuf": func(t *testing.T, r *running) {
			r.sendRaw(t, r.http, post+"Content-Type: application/x-protobuf\r\n\r\nabc")
		},
		"no media type": func(t *testing.T, r *running) { r.sendRaw(t, r.http, post+"\r\n") },
		"GET": func(t *testing.T, r *running) {
			r.sendRaw(t, r.http, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
		},
		"chunks": func(t *testing.T, r *running) {
			r.sendRaw(t, r.http, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")
		},
		"version": func(t *testing.T, r *running) {
			r.sendRaw(t, r.http, post+"Content-Type: application/json\r\n"+"otlp-profiles-development-version: 9\r\n\r\n")
		},
		"gRPC without a preface": func(t *testing.T, r *running) { r.sendRaw(t, r.grpc, http2.ClientPreface[:5]) },
		"gRPC headers": func(t *testing.T, r *running) {
			rawStream(t, r.grpc, 1, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, map[string]any{"receive_timeout": longer.String()}, consumertest.NewNop())
			require.NoError(t, r.Ready())
			stall(t, r)
			// Others are served. By then the server has seen the stalled one.
			body := marshaled(t, records(1, 1))
			require.Equal(t, http.StatusOK, r.post(t, protoType, "", body).code)
			require.NoError(t, send(t.Context(), r.dial(t), body, ""))
			require.NoError(t, r.NotReady())
			shutDown := make(chan error, 1)
			go func() { shutDown <- r.receiver.Shutdown(context.Background()) }()
			select {
			case err := <-shutDown:
				require.NoError(t, err)
			case <-time.After(slowdown * 20 * time.Second):
				t.Fatal("the receiver waits for the client")
			}
		})
	}
}

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

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
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
	for name, stalled := range map[string]struct {
		grpc bool
		text string
	}{
		"other media type":       {text: post + "Content-Type: text/plain\r\n\r\n"},
		"protobuf":               {text: post + "Content-Type: application/x-protobuf\r\n\r\nabc"},
		"no media type":          {text: post + "\r\n"},
		"GET":                    {text: "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n"},
		"chunks":                 {text: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"},
		"version":                {text: post + "Content-Type: application/json\r\notlp-profiles-development-version: 9\r\n\r\n"},
		"gRPC without a preface": {grpc: true, text: http2.ClientPreface[:5]},
		"gRPC headers":           {grpc: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, map[string]any{"receive_timeout": longer.String()}, consumertest.NewNop())
			require.NoError(t, r.Ready())
			switch {
			case !stalled.grpc:
				r.sendRaw(t, r.http, stalled.text)
			case stalled.text != "":
				r.sendRaw(t, r.grpc, stalled.text)
			default:
				rawStream(t, r.grpc, 1, 1)
			}
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
			case <-time.After(memorytest.Slowdown * 20 * time.Second):
				t.Fatal("the receiver waits for the client")
			}
		})
	}
}

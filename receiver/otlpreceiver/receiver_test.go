// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpreceiver

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelpprof/otelpprof/internal/connections"
	"github.com/otelpprof/otelpprof/internal/testkit/certtest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

func logs() plog.Logs {
	data := plog.NewLogs()
	data.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("a")
	return data
}

func marshaled(t *testing.T) []byte {
	t.Helper()
	body := must.Get(plogotlp.NewExportRequestFromLogs(logs()).MarshalProto())(t)
	return body
}

// TestAnswersOfCore: the answers are those of core's receiver.
func TestAnswersOfCore(t *testing.T) {
	const proto, text = "application/x-protobuf", "application/json"
	for name, test := range map[string]struct {
		settings map[string]any
		method   string
		path     string
		header   map[string]string
		body     []byte
		code     int
	}{
		"accepted":         {path: "/v1/logs", header: map[string]string{"Content-Type": proto}, body: marshaled(t), code: 200},
		"no traces in it":  {path: "/v1/traces", header: map[string]string{"Content-Type": text}, body: []byte("{}"), code: 200},
		"metrics":          {path: "/v1/metrics", header: map[string]string{"Content-Type": text}, body: []byte("{}"), code: 200},
		"profiles":         {path: "/v1development/profiles", header: map[string]string{"Content-Type": text}, body: []byte("{}"), code: 200},
		"another path":     {settings: map[string]any{"logs_url_path": "/logs"}, path: "/logs", header: map[string]string{"Content-Type": text}, body: []byte("{}"), code: 200},
		"unknown path":     {path: "/v2/logs", header: map[string]string{"Content-Type": text}, code: 404},
		"method":           {method: http.MethodGet, path: "/v1/logs", code: 405},
		"media type":       {path: "/v1/logs", header: map[string]string{"Content-Type": "text/plain"}, code: 415},
		"malformed":        {path: "/v1/logs", header: map[string]string{"Content-Type": proto}, body: []byte{0x0a}, code: 400},
		"encoding":         {path: "/v1/logs", header: map[string]string{"Content-Type": proto, "Content-Encoding": "no"}, code: 400},
		"encoding in JSON": {path: "/v1/logs", header: map[string]string{"Content-Type": text, "Content-Encoding": "no"}, code: 400},
		"encoding in text": {path: "/v1/logs", header: map[string]string{"Content-Type": "text/plain", "Content-Encoding": "no"}, code: 400},
		"broken gzip":      {path: "/v1/logs", header: map[string]string{"Content-Type": proto, "Content-Encoding": "gzip"}, body: []byte("a"), code: 400},
		"too large":        {settings: map[string]any{"max_request_body_size": 3}, path: "/v1/logs", header: map[string]string{"Content-Type": proto}, body: marshaled(t), code: 400},
		"no credentials":   {settings: map[string]any{"auth": map[string]any{"authenticator": "guard"}}, path: "/v1/logs", header: map[string]string{"Content-Type": proto}, code: 401},
		"credentials": {
			settings: map[string]any{"auth": map[string]any{"authenticator": "guard"}}, path: "/v1/logs",
			header: map[string]string{"Content-Type": proto, "Authorization": "right"}, body: marshaled(t), code: 200,
		},
		"response headers": {settings: map[string]any{"response_headers": map[string]any{"X-A": "b"}}, path: "/v1/logs", header: map[string]string{"Content-Type": text}, body: []byte("{}"), code: 200},
		"CORS": {
			settings: map[string]any{"cors": map[string]any{"allowed_origins": []any{"http://a"}}}, method: http.MethodOptions, path: "/v1/logs",
			header: map[string]string{"Origin": "http://a", "Access-Control-Request-Method": "POST"}, code: 204,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.method == "" {
				test.method = http.MethodPost
			}
			of := func(at addresses) answer {
				a := ask(t, newClient(t), test.method, "http://"+at.http+test.path, test.header, test.body)
				if a.header["Content-Type"] == text {
					// The order and the spaces differ each time.
					var value any
					require.NoError(t, json.Unmarshal([]byte(a.body), &value))
					a.body = fmt.Sprint(value)
					delete(a.header, "Content-Length")
				}
				return a
			}
			cores := of(run(t, core, test.settings, consumertest.NewNop()))
			assert.Equal(t, test.code, cores.code)
			assert.Equal(t, cores, of(run(t, NewFactory(), test.settings, consumertest.NewNop())))
		})
	}
}

// TestMetadata: consumers find the metadata of a request.
func TestMetadata(t *testing.T) {
	sink := new(consumertest.LogsSink)
	at := run(t, NewFactory(), map[string]any{"include_metadata": true}, withLogs{consumertest.NewNop(), sink})
	ask(t, newClient(t), http.MethodPost, "http://"+at.http+"/v1/logs", map[string]string{"Content-Type": "application/x-protobuf", "X-Tenant": "b"}, marshaled(t))
	require.Len(t, sink.Contexts(), 1)
	assert.Equal(t, []string{"b"}, client.FromContext(sink.Contexts()[0]).Metadata.Get("x-tenant"))
}

// TestGRPC: the other protocol is core's.
func TestGRPC(t *testing.T) {
	sink := new(consumertest.LogsSink)
	at := run(t, NewFactory(), nil, withLogs{consumertest.NewNop(), sink})
	connection, err := grpc.NewClient(at.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer connection.Close()
	_, err = plogotlp.NewGRPCClient(connection).Export(t.Context(), plogotlp.NewExportRequestFromLogs(logs()))
	require.NoError(t, err)
	assert.Equal(t, 1, sink.LogRecordCount())
}

// TestHeaders: a header that is too large, or has too many fields, is refused.
func TestHeaders(t *testing.T) {
	at := run(t, NewFactory(), nil, consumertest.NewNop())
	for name, test := range map[string]struct {
		header string
		code   int
	}{
		"large enough": {"X-A: " + strings.Repeat("a", connections.MaxHeaderBytes-1<<10) + "\r\n", 405},
		"too large":    {"X-A: " + strings.Repeat("a", connections.MaxHeaderBytes+4<<10) + "\r\n", 431},
		"fields":       {strings.Repeat("X-A: a\r\n", connections.MaxFields), 405},
		"too many":     {strings.Repeat("X-A: a\r\n", connections.MaxFields+1), 431},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, at.http)
			_, err := fmt.Fprintf(c, "GET /v1/logs HTTP/1.1\r\nHost: a\r\n%s\r\n", test.header)
			require.NoError(t, err)
			response := must.Get(http.ReadResponse(bufio.NewReader(c), nil))(t)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, test.code, response.StatusCode)
		})
	}
}

// TestLifecycle: the receivers of all signals start once and stop once. Then the configuration can be used again.
func TestLifecycle(t *testing.T) {
	at := newAddresses(t)
	cfg := configure(t, at, nil)
	for range 2 {
		parts := createAll(t, NewFactory(), cfg, consumertest.NewNop())
		hosts := newHost()
		for _, p := range parts {
			assert.Same(t, parts[0], p)
			require.NoError(t, p.Start(t.Context(), hosts))
			assert.True(t, listens(t, at.grpc))
			assert.True(t, listens(t, at.http))
		}
		for _, p := range parts {
			require.NoError(t, p.Shutdown(t.Context()))
			assert.False(t, listens(t, at.grpc))
			assert.False(t, listens(t, at.http))
		}
		assert.NotContains(t, hosts.events, componentstatus.StatusFatalError)
		assert.NotContains(t, hosts.events, componentstatus.StatusPermanentError)
	}
	assert.Empty(t, receivers)
}

// TestTakenPort: if a server cannot listen, each receiver returns the error, and the other server stops.
func TestTakenPort(t *testing.T) {
	at := newAddresses(t)
	taken := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", at.http))(t)
	defer taken.Close()
	for _, p := range createAll(t, NewFactory(), configure(t, at, nil), consumertest.NewNop()) {
		require.ErrorContains(t, p.Start(t.Context(), componenttest.NewNopHost()), "address already in use")
		defer func() { assert.NoError(t, p.Shutdown(t.Context())) }()
	}
	assert.False(t, listens(t, at.grpc))
}

func listens(t *testing.T, address string) bool {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	return assert.NoError(t, c.Close())
}

// withLogs passes logs to a sink.
type withLogs struct {
	next
	logs *consumertest.LogsSink
}

func (w withLogs) ConsumeLogs(ctx context.Context, data plog.Logs) error {
	return w.logs.ConsumeLogs(ctx, data)
}

// TestIdleConnectionsOverTLS: a connection of gRPC that waits takes little memory, also with TLS.
func TestIdleConnectionsOverTLS(t *testing.T) {
	const connections = 32
	at := newAddresses(t)
	cfg := configure(t, at, nil)
	directory := t.TempDir()
	certtest.SelfSigned(t, directory)
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{
		"grpc": map[string]any{"tls": map[string]any{"cert_file": filepath.Join(directory, "tls.crt"), "key_file": filepath.Join(directory, "tls.key")}},
	}}).Unmarshal(cfg))
	r := createAll(t, NewFactory(), cfg, consumertest.NewNop())[0]
	require.NoError(t, r.Start(t.Context(), newHost()))
	defer func() { require.NoError(t, r.Shutdown(context.WithoutCancel(t.Context()))) }()
	before := heap()
	for range connections {
		c := tls.Client(dial(t, at.grpc), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		defer c.Close()
		_, err := io.WriteString(c, http2.ClientPreface)
		require.NoError(t, err)
		framer := http2.NewFramer(c, c)
		require.NoError(t, framer.WriteSettings())
		_, err = framer.ReadFrame()
		require.NoError(t, err)
	}
	taken := (heap() - before) / connections
	assert.Less(t, taken, 256<<10, "bytes of a connection, with those of its client")
}

// TestSilentConnections: a connection of gRPC whose client does not answer is closed before a shutdown, which can wait for it, takes too long.
func TestSilentConnections(t *testing.T) {
	at := run(t, NewFactory(), nil, consumertest.NewNop())
	c := dial(t, at.grpc)
	_, err := io.WriteString(c, http2.ClientPreface)
	require.NoError(t, err)
	require.NoError(t, http2.NewFramer(c, nil).WriteSettings())
	begin := time.Now()
	require.NoError(t, c.SetReadDeadline(begin.Add(time.Minute)))
	_, err = io.Copy(io.Discard, c)
	require.NoError(t, err, "it is closed")
	assert.Less(t, time.Since(begin), 10*time.Second)
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

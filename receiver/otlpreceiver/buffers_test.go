// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpreceiver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"golang.org/x/net/http2"
)

// TestIdleConnectionsOverTLS: a connection of gRPC that waits takes little memory, also with TLS.
func TestIdleConnectionsOverTLS(t *testing.T) {
	const connections = 32
	at := newAddresses(t)
	cfg := configure(t, at, nil)
	certificate, key := selfSigned(t)
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{
		"grpc": map[string]any{"tls": map[string]any{"cert_pem": certificate, "key_pem": key}},
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

// TestSilentConnections: a connection of gRPC whose client does not answer is closed.
func TestSilentConnections(t *testing.T) {
	at := run(t, NewFactory(), nil, consumertest.NewNop())
	c := dial(t, at.grpc)
	_, err := io.WriteString(c, http2.ClientPreface)
	require.NoError(t, err)
	require.NoError(t, http2.NewFramer(c, nil).WriteSettings())
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = io.Copy(io.Discard, c)
	require.NoError(t, err, "it is closed")
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// selfSigned returns a certificate and its key.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	own := server.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	require.NoError(t, err)
	encode := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return encode("CERTIFICATE", own.Certificate[0]), encode("PRIVATE KEY", private)
}

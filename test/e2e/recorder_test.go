// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
)

// recorder stands between an agent and the gateway and keeps what the agent sends as logs.
type recorder struct {
	url    string
	mu     sync.Mutex
	bodies [][]byte
	grpc   bool
}

// record starts a recorder before a server at this address.
func record(t *testing.T, target string, grpc bool) *recorder {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &recorder{url: "http://" + listener.Addr().String(), grpc: grpc}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!grpc)
	protocols.SetUnencryptedHTTP2(grpc)
	transport := &http.Transport{Protocols: protocols}
	server := &http.Server{
		Protocols:         protocols,
		ReadHeaderTimeout: time.Minute,
		Handler: &httputil.ReverseProxy{
			Transport:     transport,
			FlushInterval: -1,
			Rewrite: func(p *httputil.ProxyRequest) {
				p.SetURL(&url.URL{Scheme: "http", Host: target})
				r.keep(t, p.Out)
			},
		},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		assert.ErrorIs(t, server.Serve(listener), http.ErrServerClosed)
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		assert.NoError(t, server.Shutdown(ctx))
		<-done
		transport.CloseIdleConnections()
	})
	return r
}

// keep copies the body of a request with logs.
func (r *recorder) keep(t *testing.T, request *http.Request) {
	t.Helper()
	body, err := io.ReadAll(request.Body)
	if !assert.NoError(t, err) {
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	if request.URL.Path == "/v1/logs" || strings.HasSuffix(request.URL.Path, "LogsService/Export") {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies = append(r.bodies, body)
	}
}

// logs returns the requests with logs.
func (r *recorder) logs(t *testing.T) []plog.Logs {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []plog.Logs
	for _, body := range r.bodies {
		if r.grpc {
			require.Greater(t, len(body), 5)
			require.Zero(t, body[0], "the message is not compressed")
			body = body[5:] // behind the flag and the length
		}
		logs, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(body)
		require.NoError(t, err)
		all = append(all, logs)
	}
	return all
}

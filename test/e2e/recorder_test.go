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
	stop   func()
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
				// An agent that ends does not wait for answers. What came from it whole goes on all the same.
				p.Out = p.Out.WithContext(context.WithoutCancel(p.Out.Context()))
				r.keep(p.Out)
			},
		},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		assert.ErrorIs(t, server.Serve(listener), http.ErrServerClosed)
	}()
	r.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		assert.NoError(t, server.Shutdown(ctx))
		<-done
		transport.CloseIdleConnections()
	})
	t.Cleanup(r.stop)
	return r
}

// keep copies the body of a request with logs. One that does not come whole is not forwarded either.
func (r *recorder) keep(request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	if request.URL.Path == "/v1/logs" || strings.HasSuffix(request.URL.Path, "LogsService/Export") {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies = append(r.bodies, body)
	}
}

// logs returns the requests with logs, when all of them have been answered. Nothing is taken any more then.
func (r *recorder) logs(t *testing.T) []plog.Logs {
	t.Helper()
	r.stop()
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

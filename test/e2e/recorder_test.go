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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
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
	listener := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
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
		logs := must.Get((&plog.ProtoUnmarshaler{}).UnmarshalLogs(body))(t)
		all = append(all, logs)
	}
	return all
}

// TestLongWait: a backend asks otlp_grpc to wait for a hundred years, with a text of a megabyte. The next attempt is a minute away,
// and the log stays short.
func TestLongWait(t *testing.T) {
	answer := must.Get(status.New(codes.Unavailable, strings.Repeat("come later ", 100_000)).
		WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(1e6 * time.Hour)}))(t)
	backend, err := otlpsink.Start(t.Context(), "127.0.0.1:0", func(context.Context, pprofile.Profiles) error { return answer.Err() })
	require.NoError(t, err)
	t.Cleanup(backend.Stop)
	g := start(t, `yaml:
extensions: {memory_budget: {}}
exporters:
  otlp_grpc:
    endpoint: `+backend.Address()+`
    tls: {insecure: true}
    middlewares: [{id: memory_budget}]
    retry_on_failure: {max_elapsed_time: 0}
service:
  extensions: [health_check, pprof, memory_budget]
  pipelines: {profiles: {exporters: [otlp_grpc]}}
`)
	g.accept(t, "?service.name=checkout", readProfile(t, "cpu"))
	require.Eventually(t, func() bool { return containsAll(g.Log(), []string{"Will retry the request", `"interval": "1m0s"`}) }, patience, patience/1000)
	assert.Less(t, len(g.Log()), 64<<10)
}

// TestDetailedMetrics: at the level detailed, the Collector's metrics of HTTP have the Host header of each request, which clients
// choose. The view in docs/telemetry.md drops it.
func TestDetailedMetrics(t *testing.T) {
	g := start(t, `yaml:
service:
  telemetry:
    metrics:
      level: detailed
      views:
        - selector: {instrument_name: "http.server.*"}
          stream: {attribute_keys: {excluded: [server.address, server.port]}}
`)
	for i := range 3 {
		request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.intake+"/", http.NoBody))(t)
		request.Host = "invented-" + strconv.Itoa(i)
		response := must.Get((&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request))(t)
		require.NoError(t, response.Body.Close())
	}
	text := get(t, "http://"+g.metrics+"/metrics")
	assert.Contains(t, text, "http_server_request_duration")
	assert.Zero(t, strings.Count(text, "invented-"))
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// running is an OTLP receiver behind the middleware.
type running struct {
	*memoryBudget
	http, grpc string // addresses
	telemetry  *componenttest.Telemetry
	client     *http.Client
	receiver   component.Component
}

// run starts an OTLP receiver of logs in front of next.
func run(t *testing.T, settings map[string]any, next consumer.Logs) *running {
	t.Helper()
	return runAuthenticated(t, settings, next, nil)
}

// runAuthenticated is run with an authenticator, unless it is nil.
func runAuthenticated(t *testing.T, settings map[string]any, next consumer.Logs, authenticator component.Component) *running {
	t.Helper()
	addresses, err := gateway.FreeAddresses(t.Context(), 2)
	require.NoError(t, err)
	r := &running{http: addresses[0], grpc: addresses[1], telemetry: componenttest.NewTelemetry()}
	t.Cleanup(func() { require.NoError(t, r.telemetry.Shutdown(context.Background())) })

	factory := NewFactory()
	cfg := factory.CreateDefaultConfig()
	require.NoError(t, confmap.NewFromStringMap(settings).Unmarshal(cfg))
	require.NoError(t, cfg.(*Config).Validate())
	made, err := factory.Create(t.Context(), extension.Settings{
		ID: component.NewID(factory.Type()), TelemetrySettings: r.telemetry.NewTelemetrySettings(),
	}, cfg)
	require.NoError(t, err)
	r.memoryBudget = made.(*memoryBudget)
	extensions := budgettest.Host{component.NewID(factory.Type()): made}
	require.NoError(t, made.Start(t.Context(), extensions))
	t.Cleanup(func() { require.NoError(t, made.Shutdown(context.Background())) })

	otlp := otlpreceiver.NewFactory()
	otlpConfig := otlp.CreateDefaultConfig()
	middlewares := []any{map[string]any{"id": "memory_budget"}}
	protocols := map[string]any{
		"grpc": map[string]any{"endpoint": r.grpc, "max_recv_msg_size_mib": 16, "middlewares": middlewares},
		"http": map[string]any{"endpoint": r.http, "compression_algorithms": []any{}, "middlewares": middlewares},
	}
	if authenticator != nil {
		extensions[component.MustNewID("authenticator")] = authenticator
		for _, protocol := range protocols {
			protocol.(map[string]any)["auth"] = map[string]any{"authenticator": "authenticator"}
		}
	}
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"protocols": protocols}).Unmarshal(otlpConfig))
	r.receiver, err = otlp.CreateLogs(t.Context(), receivertest.NewNopSettings(otlp.Type()), otlpConfig, next)
	require.NoError(t, err)
	require.NoError(t, r.receiver.Start(t.Context(), extensions))
	t.Cleanup(func() { require.NoError(t, r.receiver.Shutdown(context.Background())) })

	r.client = &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	t.Cleanup(r.client.CloseIdleConnections)
	return r
}

type answer struct {
	code int
	body []byte
	http.Header
}

// post sends logs over HTTP.
func (r *running) post(t *testing.T, contentType, encoding string, body []byte) answer {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.http+"/v1/logs", bytes.NewReader(body)))(t)
	request.Header.Set("Content-Type", contentType)
	if encoding != "" {
		request.Header.Set("Content-Encoding", encoding)
	}
	response := must.Get(r.client.Do(request))(t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(t)
	return answer{response.StatusCode, text, response.Header}
}

// dial connects a gRPC client until the test ends.
func (r *running) dial(t *testing.T, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	connection, closes := r.connect(t, options...)
	t.Cleanup(closes)
	return connection
}

// connect connects a gRPC client.
func (r *running) connect(t *testing.T, options ...grpc.DialOption) (connection *grpc.ClientConn, closes func()) {
	t.Helper()
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	connection = must.Get(grpc.NewClient(r.grpc, options...))(t)
	return connection, func() { assert.NoError(t, connection.Close()) }
}

// requireFree asserts that nothing is reserved or arriving after all answers.
func (m *memoryBudget) requireFree(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		runtime.GC() // frees the buffers that gRPC did not put back, and records
		used, _ := m.budget.Used()
		return used == 0
	}, memorytest.Slowdown*10*time.Second, 10*time.Millisecond)
}

// dialRaw sends text on a connection that stays open until the test ends.
func dialRaw(t *testing.T, address, text string) net.Conn {
	t.Helper()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	_, err = io.WriteString(connection, text)
	require.NoError(t, err)
	return connection
}

// records returns a request of n log records with a text of the given number of bytes each.
func records(n, bytes int) plogotlp.ExportRequest {
	logs := plog.NewLogs()
	all := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for range n {
		all.AppendEmpty().Body().SetStr(strings.Repeat("x", bytes))
	}
	return plogotlp.NewExportRequestFromLogs(logs)
}

func marshaled(t *testing.T, request plogotlp.ExportRequest) []byte {
	t.Helper()
	return must.Get(request.MarshalProto())(t)
}

// sumOf returns the value of a counter for a reason.
func sumOf(metric metricdata.Metrics, reason string) (sum int64) {
	for _, point := range metric.Data.(metricdata.Sum[int64]).DataPoints {
		if value, _ := point.Attributes.Value("reason"); value.AsString() == reason {
			sum += point.Value
		}
	}
	return sum
}

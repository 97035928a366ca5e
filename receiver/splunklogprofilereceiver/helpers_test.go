// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// pipelines has the next consumers of a receiver under test. nil means no pipeline of that signal.
type pipelines struct {
	profiles xconsumer.Profiles
	logs     consumer.Logs
	traces   consumer.Traces
	metrics  consumer.Metrics
}

// running is a receiver that listens on free ports.
type running struct {
	grpc, http string
	telemetry  *componenttest.Telemetry
}

// run starts a receiver, and stops it when the test ends. values is its configuration without the endpoints.
func run(t *testing.T, next pipelines, values map[string]any) *running {
	t.Helper()
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 2))(t)
	conf := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{
		"grpc": map[string]any{"endpoint": addresses[0]}, "http": map[string]any{"endpoint": addresses[1]},
	}})
	require.NoError(t, conf.Merge(confmap.NewFromStringMap(values)))
	cfg := must.Get(load(conf))(t)

	r := &running{grpc: addresses[0], http: addresses[1], telemetry: componenttest.NewTelemetry()}
	parts := createAll(t, cfg, next, r.telemetry.NewTelemetrySettings())
	for _, part := range parts {
		require.NoError(t, part.Start(t.Context(), componenttest.NewNopHost()))
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, part := range parts {
			assert.NoError(t, part.Shutdown(ctx))
		}
		assert.NoError(t, r.telemetry.Shutdown(ctx))
	})
	return r
}

// createAll creates the receiver for each signal that has a next consumer.
func createAll(t *testing.T, cfg *Config, next pipelines, telemetry component.TelemetrySettings) []component.Component {
	t.Helper()
	set := receivertest.NewNopSettings(typ)
	set.TelemetrySettings = telemetry
	factory := NewFactory()
	var parts []component.Component
	add := func(part component.Component, err error) {
		require.NoError(t, err)
		parts = append(parts, part)
	}
	if next.traces != nil {
		add(factory.CreateTraces(t.Context(), set, cfg, next.traces))
	}
	if next.profiles != nil {
		add(factory.CreateProfiles(t.Context(), set, cfg, next.profiles))
	}
	if next.logs != nil {
		add(factory.CreateLogs(t.Context(), set, cfg, next.logs))
	}
	if next.metrics != nil {
		add(factory.CreateMetrics(t.Context(), set, cfg, next.metrics))
	}
	return parts
}

// dial connects to the receiver's gRPC server.
func (r *running) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	connection := must.Get(grpc.NewClient(r.grpc, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	t.Cleanup(func() { assert.NoError(t, connection.Close()) })
	return connection
}

// post sends logs in protobuf to the receiver's HTTP server.
func (r *running) post(t *testing.T, body []byte, headers ...string) (status int, text string) {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.http+"/v1/logs", bytes.NewReader(body)))(t)
	request.Header.Set("Content-Type", "application/x-protobuf")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response := must.Get(client.Do(request))(t)
	defer response.Body.Close()
	answer := must.Get(io.ReadAll(response.Body))(t)
	return response.StatusCode, string(answer)
}

// postLogs sends logs like an agent.
func (r *running) postLogs(t *testing.T, logs plog.Logs) (status int, text string) {
	t.Helper()
	body := must.Get((&plog.ProtoMarshaler{}).MarshalLogs(logs))(t)
	return r.post(t, body)
}

// captures returns the paths of the requests in testdata/splunk.
func captures(t *testing.T) []string {
	t.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(profiletest.Testdata(t, "splunk"), "*", "*.pb")))(t)
	require.NotEmpty(t, paths)
	return paths
}

func readLogs(t *testing.T, path string) plog.Logs {
	t.Helper()
	body := must.Get(os.ReadFile(path))(t)
	logs := must.Get((&plog.ProtoUnmarshaler{}).UnmarshalLogs(body))(t)
	return logs
}

// pythonLogs returns three profiling records with 15 samples.
func pythonLogs(t *testing.T) plog.Logs {
	t.Helper()
	return readLogs(t, profiletest.Testdata(t, "splunk", "splunk-otel-python", "cpu-continuous.pb"))
}

// brokenLogs returns three profiling records that cannot be read.
func brokenLogs(t *testing.T) plog.Logs {
	t.Helper()
	logs := pythonLogs(t)
	for _, record := range logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
		record.Body().SetStr("!")
	}
	return logs
}

// ordinaryLogs returns log records that are no profiling records.
func ordinaryLogs(bodies ...string) plog.Logs {
	logs := plog.NewLogs()
	scope := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	scope.Scope().SetName("com.acme.Shop")
	for _, body := range bodies {
		scope.LogRecords().AppendEmpty().Body().SetStr(body)
	}
	return logs
}

// mixed merges logs into one request.
func mixed(parts ...plog.Logs) plog.Logs {
	all := plog.NewLogs()
	for _, part := range parts {
		part.ResourceLogs().MoveAndAppendTo(all.ResourceLogs())
	}
	return all
}

// bodiesIn returns the bodies of all records in a sink, in their order.
func bodiesIn(sink *consumertest.LogsSink) []string {
	var bodies []string
	for _, logs := range sink.AllLogs() {
		for _, resource := range logs.ResourceLogs().All() {
			for _, scope := range resource.ScopeLogs().All() {
				for _, record := range scope.LogRecords().All() {
					bodies = append(bodies, record.Body().AsString())
				}
			}
		}
	}
	return bodies
}

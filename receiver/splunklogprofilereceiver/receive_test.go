// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// TestEveryCapture sends the captures of all agents over each transport, and expects the result of the translator.
func TestEveryCapture(t *testing.T) {
	sink := new(consumertest.ProfilesSink)
	r := run(t, pipelines{profiles: sink}, nil)
	client := plogotlp.NewGRPCClient(r.dial(t))
	decoder := splunk.NewDecoder(splunk.Options{})
	for _, path := range captures(t) {
		want, _ := decoder.Decode(readLogs(t, path), 0, nil)
		body, err := os.ReadFile(path)
		require.NoError(t, err)

		status, text := r.post(t, body, "Extra-Content-Type", "otel-profiling-stacktraces")
		assert.Equal(t, 200, status, "%s: %s", filepath.Base(path), text)
		request := plogotlp.NewExportRequest()
		require.NoError(t, request.UnmarshalProto(body))
		_, err = client.Export(t.Context(), request)
		require.NoError(t, err, path)

		require.Len(t, sink.AllProfiles(), 2, path)
		for _, got := range sink.AllProfiles() {
			assert.Empty(t, profiletest.Diff(want, got), path)
		}
		sink.Reset()
	}
}

// TestOnePortTakesAll: an agent can send all signals to one endpoint.
func TestOnePortTakesAll(t *testing.T) {
	profiles, logs := new(consumertest.ProfilesSink), new(consumertest.LogsSink)
	traces, metrics := new(consumertest.TracesSink), new(consumertest.MetricsSink)
	r := run(t, pipelines{profiles: profiles, logs: logs, traces: traces, metrics: metrics}, nil)

	sentTraces := ptrace.NewTraces()
	sentTraces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetName("span")
	sentMetrics := pmetric.NewMetrics()
	metric := sentMetrics.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	metric.SetName("metric")
	metric.SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(7)
	sentProfiles, _ := splunk.NewDecoder(splunk.Options{}).Decode(pythonLogs(t), 0, nil)

	connection := r.dial(t)
	_, err := ptraceotlp.NewGRPCClient(connection).Export(t.Context(), ptraceotlp.NewExportRequestFromTraces(sentTraces))
	require.NoError(t, err)
	_, err = pmetricotlp.NewGRPCClient(connection).Export(t.Context(), pmetricotlp.NewExportRequestFromMetrics(sentMetrics))
	require.NoError(t, err)
	copied := pprofile.NewProfiles()
	sentProfiles.CopyTo(copied)
	_, err = pprofileotlp.NewGRPCClient(connection).Export(t.Context(), pprofileotlp.NewExportRequestFromProfiles(copied))
	require.NoError(t, err)
	status, text := r.postLogs(t, mixed(ordinaryLogs("first"), pythonLogs(t), ordinaryLogs("second")))
	require.Equal(t, 200, status, text)

	require.Len(t, traces.AllTraces(), 1)
	assert.Equal(t, sentTraces, traces.AllTraces()[0])
	require.Len(t, metrics.AllMetrics(), 1)
	assert.Equal(t, sentMetrics, metrics.AllMetrics()[0])
	require.Len(t, profiles.AllProfiles(), 2, "one of OTLP profiles, one of log records")
	assert.Empty(t, profiletest.Diff(sentProfiles, profiles.AllProfiles()[0]))
	assert.Empty(t, profiletest.Diff(sentProfiles, profiles.AllProfiles()[1]))
	assert.Equal(t, []string{"first", "second"}, bodiesIn(logs))
}

// TestMixedRequest: with both kinds of records in one request, also in one scope, nothing is lost or duplicated, and the
// other records keep their order.
func TestMixedRequest(t *testing.T) {
	profiles, sink := new(consumertest.ProfilesSink), new(consumertest.LogsSink)
	r := run(t, pipelines{profiles: profiles, logs: sink}, nil)
	logs := mixed(ordinaryLogs("1", "2"), pythonLogs(t), ordinaryLogs("3"))
	scope := logs.ResourceLogs().At(1).ScopeLogs().At(0)
	scope.Scope().SetName("not passed on")
	records := plog.NewLogRecordSlice()
	for _, record := range scope.LogRecords().All() {
		records.AppendEmpty().Body().SetStr("between")
		record.CopyTo(records.AppendEmpty())
	}
	records.CopyTo(scope.LogRecords())
	status, text := r.postLogs(t, logs)
	require.Equal(t, 200, status, text)
	assert.Equal(t, []string{"1", "2", "between", "between", "between", "3"}, bodiesIn(sink))
	assert.Equal(t, 15, profiles.SampleCount())
}

// TestWithoutProfilesPipeline: without a profiles pipeline, profiling records are passed on as logs.
func TestWithoutProfilesPipeline(t *testing.T) {
	sink := new(consumertest.LogsSink)
	r := run(t, pipelines{logs: sink}, nil)
	status, text := r.postLogs(t, mixed(ordinaryLogs("first"), pythonLogs(t)))
	require.Equal(t, 200, status, text)
	require.Len(t, sink.AllLogs(), 1)
	want := mixed(ordinaryLogs("first"), pythonLogs(t))
	assert.Equal(t, want, sink.AllLogs()[0])
}

// TestOptionsReachTheTranslation: the options have an effect.
func TestOptionsReachTheTranslation(t *testing.T) {
	sink := new(consumertest.ProfilesSink)
	r := run(t, pipelines{profiles: sink}, map[string]any{"limits": map[string]any{"samples": 5}, "include_original_payload": true})
	status, text := r.postLogs(t, pythonLogs(t))
	require.Equal(t, 200, status, text)
	assert.Equal(t, 5, sink.SampleCount())
	profile := sink.AllProfiles()[0].ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
	assert.Equal(t, "pprof", profile.OriginalPayloadFormat())
}

// contextSink stores the client metadata of what it consumes.
type contextSink struct {
	consumertest.ProfilesSink
	tenants []string
}

func (s *contextSink) ConsumeProfiles(ctx context.Context, profiles pprofile.Profiles) error {
	s.tenants = append(s.tenants, client.FromContext(ctx).Metadata.Get("X-Scope-OrgID")...)
	return s.ProfilesSink.ConsumeProfiles(ctx, profiles)
}

// TestMetadataGoesOn: include_metadata also works for converted profiles.
func TestMetadataGoesOn(t *testing.T) {
	sink := new(contextSink)
	r := run(t, pipelines{profiles: sink}, map[string]any{"protocols": map[string]any{"http": map[string]any{"include_metadata": true}}})
	body := must.Get((&plog.ProtoMarshaler{}).MarshalLogs(pythonLogs(t)))(t)
	status, text := r.post(t, body, "X-Scope-OrgID", "team-a")
	require.Equal(t, 200, status, text)
	assert.Equal(t, []string{"team-a"}, sink.tenants)
}

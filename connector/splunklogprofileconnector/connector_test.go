// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofileconnector

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelpprof/otelpprof/connector/splunklogprofileconnector/internal/metadata"
	"github.com/otelpprof/otelpprof/internal/splunkrecords"
	"github.com/otelpprof/otelpprof/internal/testkit/configtest"
	"github.com/otelpprof/otelpprof/internal/testkit/lifecycletest"
	"github.com/otelpprof/otelpprof/internal/testkit/metrictest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// running has both halves of a connector, each with a sink.
type running struct {
	toProfiles, toLogs connector.Logs
	profiles           *consumertest.ProfilesSink
	logs               *consumertest.LogsSink
	telemetry          *componenttest.Telemetry
}

func run(t *testing.T, cfg *Config) *running {
	t.Helper()
	r := &running{
		profiles:  new(consumertest.ProfilesSink),
		logs:      new(consumertest.LogsSink),
		telemetry: componenttest.NewTelemetry(),
	}
	set := connectortest.NewNopSettings(typ)
	set.TelemetrySettings = r.telemetry.NewTelemetrySettings()
	factory := NewFactory()
	var err error
	r.toProfiles, err = factory.CreateLogsToProfiles(t.Context(), set, cfg, r.profiles)
	require.NoError(t, err)
	r.toLogs, err = factory.CreateLogsToLogs(t.Context(), set, cfg, r.logs)
	require.NoError(t, err)
	for _, c := range []connector.Logs{r.toProfiles, r.toLogs} {
		require.NoError(t, c.Start(t.Context(), componenttest.NewNopHost()))
	}
	t.Cleanup(func() {
		for _, c := range []connector.Logs{r.toProfiles, r.toLogs} {
			assert.NoError(t, c.Shutdown(context.WithoutCancel(t.Context())))
		}
		assert.NoError(t, r.telemetry.Shutdown(context.WithoutCancel(t.Context())))
	})
	return r
}

// send sends each half its own copy of the logs, as the Collector does if a consumer modifies its data.
func (r *running) send(t *testing.T, logs plog.Logs) {
	t.Helper()
	copied := plog.NewLogs()
	logs.CopyTo(copied)
	require.NoError(t, r.toProfiles.ConsumeLogs(t.Context(), logs))
	assert.Equal(t, copied, logs, "toProfiles does not modify the logs")
	require.NoError(t, r.toLogs.ConsumeLogs(t.Context(), copied))
}

// capture reads a request of testdata/splunk.
func capture(t *testing.T, name string) plog.Logs {
	t.Helper()
	body := must.Get(os.ReadFile(profiletest.Testdata(t, "splunk", name)))(t)
	logs := must.Get((&plog.ProtoUnmarshaler{}).UnmarshalLogs(body))(t)
	return logs
}

// addOther adds a log record that is no profiling record, in its own scope.
func addOther(logs plog.Logs) {
	scope := logs.ResourceLogs().At(0).ScopeLogs().AppendEmpty()
	scope.Scope().SetName("com.acme.Shop")
	scope.LogRecords().AppendEmpty().Body().SetStr("ordinary")
}

const python = "splunk-otel-python/cpu-continuous.pb"

func TestMixedLogsAreSplitBetweenThePipelines(t *testing.T) {
	r := run(t, createDefaultConfig().(*Config))
	logs := capture(t, python)
	addOther(logs)
	r.send(t, logs)

	require.Len(t, r.profiles.AllProfiles(), 1)
	assert.Equal(t, 15, r.profiles.SampleCount())
	require.NoError(t, profiletest.Check(r.profiles.AllProfiles()[0]))
	require.Len(t, r.logs.AllLogs(), 1)
	assert.Equal(t, 1, r.logs.LogRecordCount())
	assert.Equal(t, "ordinary", r.logs.AllLogs()[0].ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().Str())
}

func TestNoEmptyMessages(t *testing.T) {
	r := run(t, createDefaultConfig().(*Config))
	r.send(t, capture(t, python))
	assert.Empty(t, r.logs.AllLogs(), "profiling records only")
	assert.Len(t, r.profiles.AllProfiles(), 1)

	ordinary := plog.NewLogs()
	ordinary.ResourceLogs().AppendEmpty()
	addOther(ordinary)
	r.send(t, ordinary)
	assert.Len(t, r.profiles.AllProfiles(), 1, "no profiling records")
	assert.Len(t, r.logs.AllLogs(), 1)
}

// TestRefusedRecordsAreNoError: a record that cannot be read does not make the sender repeat the batch.
func TestRefusedRecordsAreNoError(t *testing.T) {
	r := run(t, createDefaultConfig().(*Config))
	logs := capture(t, python)
	logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(1).Body().SetStr("!")
	r.send(t, logs)
	assert.Equal(t, 10, r.profiles.SampleCount())

	for _, record := range logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
		record.Body().SetStr("!")
	}
	r.send(t, logs)
	assert.Len(t, r.profiles.AllProfiles(), 1)
	metrictest.AssertPoints(t, r.telemetry, "otelcol_connector_splunk_log_profile_refusals", []metricdata.DataPoint[int64]{
		{Attributes: attribute.NewSet(attribute.String("reason", "base64")), Value: 4},
	})
}

// TestErrorsOfTheNextConsumer: an error of the next consumer is returned unchanged, so that it stays retryable or
// permanent.
func TestErrorsOfTheNextConsumer(t *testing.T) {
	for _, failure := range []error{errors.New("queue is full"), consumererror.NewPermanent(errors.New("unreadable"))} {
		set := connectortest.NewNopSettings(typ)
		next := consumertest.NewErr(failure)
		toProfiles := must.Get(NewFactory().CreateLogsToProfiles(t.Context(), set, createDefaultConfig(), next))(t)
		assert.Equal(t, failure, toProfiles.ConsumeLogs(t.Context(), capture(t, python)))
		toLogs := must.Get(NewFactory().CreateLogsToLogs(t.Context(), set, createDefaultConfig(), next))(t)
		ordinary := plog.NewLogs()
		ordinary.ResourceLogs().AppendEmpty()
		addOther(ordinary)
		assert.Equal(t, failure, toLogs.ConsumeLogs(t.Context(), ordinary))
	}
}

func TestCapabilities(t *testing.T) {
	r := run(t, createDefaultConfig().(*Config))
	assert.False(t, r.toProfiles.Capabilities().MutatesData)
	assert.True(t, r.toLogs.Capabilities().MutatesData)
}

func TestOptionsReachTheTranslation(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	cfg.Limits.Samples = 5
	cfg.IncludeOriginalPayload = true
	r := run(t, cfg)
	r.send(t, capture(t, python))
	assert.Equal(t, 5, r.profiles.SampleCount())
	profile := r.profiles.AllProfiles()[0].ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
	assert.Positive(t, profile.OriginalPayload().Len())
}

func TestMetrics(t *testing.T) {
	r := run(t, createDefaultConfig().(*Config))
	logs := capture(t, "splunk-otel-js/v1.2.0-text-mixed-grpc.pb")
	addOther(logs)
	r.send(t, logs)
	r.send(t, capture(t, python))
	point := func(value int64, attributes ...attribute.KeyValue) metricdata.DataPoint[int64] {
		return metricdata.DataPoint[int64]{Attributes: attribute.NewSet(attributes...), Value: value}
	}
	metrictest.AssertPoints(t, r.telemetry, "otelcol_connector_splunk_log_profile_records", []metricdata.DataPoint[int64]{
		point(25, attribute.String("format", "text")), point(3, attribute.String("format", "pprof")),
	})
	metrictest.AssertPoints(t, r.telemetry, "otelcol_connector_splunk_log_profile_events", []metricdata.DataPoint[int64]{point(40)})
	metrictest.AssertPoints(t, r.telemetry, "otelcol_connector_splunk_log_profile_samples", []metricdata.DataPoint[int64]{point(int64(r.profiles.SampleCount()))})
	metrictest.AssertPoints(t, r.telemetry, "otelcol_connector_splunk_log_profile_other_records", []metricdata.DataPoint[int64]{point(1)})
	metrictest.AssertPoints(t, r.telemetry, "otelcol_connector_splunk_log_profile_removed_records", []metricdata.DataPoint[int64]{point(28)})
	metrictest.AssertObservations(t, r.telemetry, "otelcol_connector_splunk_log_profile_translate_duration", map[attribute.Set]uint64{*attribute.EmptySet(): 2})
}

func TestConfig(t *testing.T) {
	for name, want := range map[string]*Config{
		"splunk_log_profile": {Config: splunkrecords.NewDefaultConfig()},
		"splunk_log_profile/all": {Config: splunkrecords.Config{
			Limits: splunkrecords.LimitsConfig{
				BodyBytes: 1 << 20, InflatedBytes: 8 << 20, Samples: 100_000,
			},
			SampleShape:            splunkrecords.SampleShapePerEvent,
			LinkLabels:             []pprof.LinkLabels{{Trace: "trace_id", Span: "span_id"}, {Trace: "trace id", Span: "span id", Decimal: true}},
			JVMThreadState:         true,
			KeepGeneratedNames:     true,
			IncludeOriginalPayload: true,
		}},
	} {
		assert.Equal(t, want, configtest.Named(t, createDefaultConfig().(*Config), name), name)
	}
}

func TestRefusedConfig(t *testing.T) { configtest.CheckRefused(t, createDefaultConfig) }

func TestLifecycle(t *testing.T) {
	set := connectortest.NewNopSettings(metadata.Type)
	lifecycletest.Check(t, func() (component.Component, error) {
		return NewFactory().CreateLogsToProfiles(t.Context(), set, createDefaultConfig(), consumertest.NewNop())
	})
	lifecycletest.Check(t, func() (component.Component, error) {
		return NewFactory().CreateLogsToLogs(t.Context(), set, createDefaultConfig(), consumertest.NewNop())
	})
}

func TestMetadataFromResource(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	cfg.MetadataFromResource = []string{"service.name"}
	r := run(t, cfg)
	logs := capture(t, python)
	logs.ResourceLogs().At(0).Resource().Attributes().PutStr("service.name", "checkout")
	r.send(t, logs)
	require.Len(t, r.profiles.Contexts(), 1)
	assert.Equal(t, []string{"checkout"}, client.FromContext(r.profiles.Contexts()[0]).Metadata.Get("service.name"))
}

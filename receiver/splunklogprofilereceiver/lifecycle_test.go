// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelpprof/otelpprof/internal/splunkrecords"
	"github.com/otelpprof/otelpprof/internal/testkit/configtest"
	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/lifecycletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func componentTelemetry() component.TelemetrySettings { return componenttest.NewNopTelemetrySettings() }

func all() pipelines {
	next := consumertest.NewNop()
	return pipelines{profiles: next, logs: next, traces: next, metrics: next}
}

// listening reports whether a server accepts connections at an address.
func listening(t *testing.T, address string) bool {
	t.Helper()
	var dialer net.Dialer
	connection, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	return assert.NoError(t, connection.Close())
}

// configured returns a configuration with free ports.
func configured(t *testing.T) (cfg *Config, addresses []string) {
	t.Helper()
	addresses, err := gateway.FreeAddresses(t.Context(), 2)
	require.NoError(t, err)
	cfg, err = load(confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{
		"grpc": map[string]any{"endpoint": addresses[0]}, "http": map[string]any{"endpoint": addresses[1]},
	}}))
	require.NoError(t, err)
	return cfg, addresses
}

// TestSignalsShareOneInstance: the parts for all signals are one receiver, which starts once and shuts down once.
// Afterwards the configuration can be used again.
func TestSignalsShareOneInstance(t *testing.T) {
	cfg, addresses := configured(t)
	for range 2 {
		parts := createAll(t, cfg, all(), componentTelemetry())
		require.Len(t, parts, 4)
		shared := parts[0].(*part).instance
		for _, p := range parts {
			assert.Same(t, shared, p.(*part).instance)
			require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
			assert.True(t, listening(t, addresses[0]))
			assert.True(t, listening(t, addresses[1]))
		}
		for _, p := range parts {
			require.NoError(t, p.Shutdown(t.Context()))
			assert.False(t, listening(t, addresses[0]))
			assert.False(t, listening(t, addresses[1]))
		}
	}
	assert.Empty(t, instances)
}

func TestConfigurationsDoNotShare(t *testing.T) {
	first, _ := configured(t)
	second, _ := configured(t)
	a := createAll(t, first, all(), componentTelemetry())
	b := createAll(t, second, all(), componentTelemetry())
	assert.NotSame(t, a[0].(*part).instance, b[0].(*part).instance)
	for _, p := range append(a, b...) {
		require.NoError(t, p.Shutdown(t.Context()), "without a start")
	}
	assert.Empty(t, instances)
}

// TestAnnouncement: the records that have no pipeline are logged once.
func TestAnnouncement(t *testing.T) {
	next := consumertest.NewNop()
	for want, to := range map[string]pipelines{
		"The receiver is in no profiles pipeline: profiling records are passed on as logs":                {logs: next, traces: next},
		"The receiver is in no logs pipeline: log records other than profiling records are not passed on": {profiles: next, traces: next},
		"": all(),
	} {
		cfg, _ := configured(t)
		core, logged := observer.New(zapcore.InfoLevel)
		telemetry := componentTelemetry()
		telemetry.Logger = zap.New(core)
		parts := createAll(t, cfg, to, telemetry)
		for _, p := range parts {
			require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
		}
		for _, p := range parts {
			require.NoError(t, p.Shutdown(t.Context()))
		}
		var said []string
		for _, entry := range logged.All() {
			if strings.HasPrefix(entry.Message, "The receiver is in no") {
				said = append(said, entry.Message)
			}
		}
		if want == "" {
			assert.Empty(t, said)
		} else {
			assert.Equal(t, []string{want}, said)
		}
	}
}

// TestLifecycle: the part for one signal alone starts and shuts down, and its configuration can be used again.
func TestLifecycle(t *testing.T) {
	cfg, _ := configured(t)
	next := consumertest.NewNop()
	for _, one := range []pipelines{{profiles: next}, {logs: next}, {traces: next}, {metrics: next}} {
		lifecycletest.Check(t, func() (component.Component, error) { return createAll(t, cfg, one, componentTelemetry())[0], nil })
	}
}

func load(conf *confmap.Conf) (*Config, error) {
	return configtest.Load(createDefaultConfig().(*Config), conf)
}

func loadNamed(t *testing.T, name string) *Config {
	t.Helper()
	return configtest.Named(t, createDefaultConfig().(*Config), name)
}

// TestDefaultConfig: agents with default settings can connect.
func TestDefaultConfig(t *testing.T) {
	cfg := loadNamed(t, "splunk_log_profile")
	require.True(t, cfg.Protocols.GRPC.HasValue())
	require.True(t, cfg.Protocols.HTTP.HasValue())
	assert.Equal(t, "localhost:4317", cfg.Protocols.GRPC.Get().NetAddr.Endpoint)
	assert.Equal(t, 20, cfg.Protocols.GRPC.Get().MaxRecvMsgSizeMiB)
	assert.Equal(t, "localhost:4318", cfg.Protocols.HTTP.Get().ServerConfig.NetAddr.Endpoint)
	assert.EqualValues(t, "/v1/logs", cfg.Protocols.HTTP.Get().LogsURLPath)
	assert.Equal(t, OtherLogsDrop, cfg.OtherLogs)
	assert.Equal(t, splunkrecords.NewDefaultConfig(), cfg.Config)
}

// TestNamedProtocolsAreTheOnlyOnes: only named protocols are on, as in the OTLP receiver.
func TestNamedProtocolsAreTheOnlyOnes(t *testing.T) {
	cfg := loadNamed(t, "splunk_log_profile/grpc_only")
	require.True(t, cfg.Protocols.GRPC.HasValue())
	assert.False(t, cfg.Protocols.HTTP.HasValue())
	assert.Equal(t, "localhost:4317", cfg.Protocols.GRPC.Get().NetAddr.Endpoint)
	assert.Equal(t, 20, cfg.Protocols.GRPC.Get().MaxRecvMsgSizeMiB)
}

func TestFullConfig(t *testing.T) {
	cfg := loadNamed(t, "splunk_log_profile/all")
	assert.Equal(t, "0.0.0.0:4317", cfg.Protocols.GRPC.Get().NetAddr.Endpoint)
	assert.Equal(t, 64, cfg.Protocols.GRPC.Get().MaxRecvMsgSizeMiB)
	assert.True(t, cfg.Protocols.GRPC.Get().IncludeMetadata)
	assert.Equal(t, "0.0.0.0:4318", cfg.Protocols.HTTP.Get().ServerConfig.NetAddr.Endpoint)
	assert.EqualValues(t, "/logs", cfg.Protocols.HTTP.Get().LogsURLPath)
	assert.Equal(t, OtherLogsReject, cfg.OtherLogs)
	assert.Equal(t, splunkrecords.Config{
		Limits: splunkrecords.LimitsConfig{
			BodyBytes: 1 << 20, InflatedBytes: 8 << 20, Samples: 100_000,
		},
		SampleShape:            splunkrecords.SampleShapePerEvent,
		LinkLabels:             []pprof.LinkLabels{{Trace: "trace_id", Span: "span_id"}},
		JVMThreadState:         true,
		KeepGeneratedNames:     true,
		IncludeOriginalPayload: true,
	}, cfg.Config)
}

func TestRefusedConfig(t *testing.T) { configtest.CheckRefused(t, createDefaultConfig) }

// TestMetadataFromResource holds that profiles of log records, and those that come as OTLP, are parted by service.
func TestMetadataFromResource(t *testing.T) {
	var profiles consumertest.ProfilesSink
	r := run(t, pipelines{profiles: &profiles}, map[string]any{"metadata_from_resource": []any{"service.name"}})
	first, second := pythonLogs(t), pythonLogs(t)
	first.ResourceLogs().At(0).Resource().Attributes().PutStr("service.name", "first")
	second.ResourceLogs().At(0).Resource().Attributes().PutStr("service.name", "second")
	status, text := r.postLogs(t, mixed(first, second))
	require.Equal(t, 200, status, text)
	require.Len(t, profiles.AllProfiles(), 2)

	sent := profiles.AllProfiles()[1]
	_, err := pprofileotlp.NewGRPCClient(r.dial(t)).Export(t.Context(), pprofileotlp.NewExportRequestFromProfiles(sent))
	require.NoError(t, err)
	var services []string
	for _, ctx := range profiles.Contexts() {
		services = append(services, client.FromContext(ctx).Metadata.Get("service.name")...)
	}
	assert.Equal(t, []string{"first", "second", "second"}, services)
}

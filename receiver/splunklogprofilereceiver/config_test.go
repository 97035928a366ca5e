// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"github.com/otelpprof/otelpprof/internal/payloadconfig"
	"github.com/otelpprof/otelpprof/internal/splunkrecords"
	"github.com/otelpprof/otelpprof/internal/testkit/configtest"
)

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
		LinkLabels:             []payloadconfig.LinkLabelsConfig{{Trace: "trace_id", Span: "span_id"}},
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

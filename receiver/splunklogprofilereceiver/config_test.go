// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"github.com/otelpprof/otelpprof/internal/payloadconfig"
	"github.com/otelpprof/otelpprof/internal/splunkrecords"
)

func load(t *testing.T, conf *confmap.Conf) (*Config, error) {
	t.Helper()
	cfg := createDefaultConfig()
	if err := conf.Unmarshal(&cfg); err != nil {
		return nil, err
	}
	return cfg.(*Config), confmap.Validate(cfg)
}

func loadNamed(t *testing.T, name string) *Config {
	t.Helper()
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	sub, err := conf.Sub(name)
	require.NoError(t, err)
	cfg, err := load(t, sub)
	require.NoError(t, err)
	return cfg
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

func TestRefusedConfig(t *testing.T) {
	for want, values := range map[string]map[string]any{
		"protocols: must specify at least one protocol": {"protocols": map[string]any{}},
		`other_logs must be drop or reject, is "keep"`:  {"other_logs": "keep"},
		"samples must be above 0, is 0":                 {"limits": map[string]any{"samples": 0}},
		"link_labels[0].trace must be set":              {"link_labels": []any{map[string]any{"span": "b"}}},
		"udp":                                           {"protocols": map[string]any{"udp": nil}},
		"limit_samples":                                 {"limit_samples": 5},
	} {
		_, err := load(t, confmap.NewFromStringMap(values))
		assert.ErrorContains(t, err, want)
	}
}

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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofileconnector

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/otelpprof/otelpprof/internal/payloadconfig"
	"github.com/otelpprof/otelpprof/internal/splunkrecords"
)

func loadConfig(t *testing.T, conf *confmap.Conf) (*Config, error) {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	if err := conf.Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func TestConfig(t *testing.T) {
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	for name, want := range map[string]*Config{
		"splunk_log_profile": {Config: splunkrecords.NewDefaultConfig()},
		"splunk_log_profile/all": {Config: splunkrecords.Config{
			Limits: splunkrecords.LimitsConfig{
				BodyBytes: 1 << 20, InflatedBytes: 8 << 20, Samples: 100_000, FramesPerStack: 2048,
			},
			SampleShape:            splunkrecords.SampleShapePerEvent,
			LinkLabels:             []payloadconfig.LinkLabelsConfig{{Trace: "trace_id", Span: "span_id"}, {Trace: "trace id", Span: "span id", Decimal: true}},
			JVMThreadState:         true,
			KeepGeneratedNames:     true,
			IncludeOriginalPayload: true,
		}},
	} {
		sub, err := conf.Sub(name)
		require.NoError(t, err)
		cfg, err := loadConfig(t, sub)
		require.NoError(t, err)
		assert.Equal(t, want, cfg, name)
	}
}

func TestRefusedConfig(t *testing.T) {
	for want, values := range map[string]map[string]any{
		"samples must be above 0, is -1":                         {"limits": map[string]any{"samples": -1}},
		`sample_shape must be combined or per_event, is "other"`: {"sample_shape": "other"},
		"protocols": {"protocols": map[string]any{}},
	} {
		_, err := loadConfig(t, confmap.NewFromStringMap(values))
		assert.ErrorContains(t, err, want)
	}
}

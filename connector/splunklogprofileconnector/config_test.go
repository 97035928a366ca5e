// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofileconnector

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/otelpprof/otelpprof/connector/splunklogprofileconnector/internal/metadata"
	"github.com/otelpprof/otelpprof/internal/payloadconfig"
	"github.com/otelpprof/otelpprof/internal/splunkrecords"
	"github.com/otelpprof/otelpprof/internal/testkit/configtest"
	"github.com/otelpprof/otelpprof/internal/testkit/lifecycletest"
)

func TestConfig(t *testing.T) {
	for name, want := range map[string]*Config{
		"splunk_log_profile": {Config: splunkrecords.NewDefaultConfig()},
		"splunk_log_profile/all": {Config: splunkrecords.Config{
			Limits: splunkrecords.LimitsConfig{
				BodyBytes: 1 << 20, InflatedBytes: 8 << 20, Samples: 100_000,
			},
			SampleShape:            splunkrecords.SampleShapePerEvent,
			LinkLabels:             []payloadconfig.LinkLabelsConfig{{Trace: "trace_id", Span: "span_id"}, {Trace: "trace id", Span: "span id", Decimal: true}},
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

// TestNoOtherPairs: the connector only connects logs to profiles, and logs to logs.
func TestNoOtherPairs(t *testing.T) {
	set := connectortest.NewNopSettings(metadata.Type)
	_, err := NewFactory().CreateTracesToTraces(t.Context(), set, createDefaultConfig(), consumertest.NewNop())
	require.Error(t, err)
	_, err = NewFactory().CreateLogsToMetrics(t.Context(), set, createDefaultConfig(), consumertest.NewNop())
	require.Error(t, err)
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

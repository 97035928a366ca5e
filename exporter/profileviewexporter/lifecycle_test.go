// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/xexporter"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/metadata"
)

func create(t *testing.T, change func(*Config)) xexporter.Profiles {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.HTTP.NetAddr.Endpoint = deliverytest.FreeEndpoint(t)
	if change != nil {
		change(cfg)
	}
	e, err := NewFactory().CreateProfiles(t.Context(), exportertest.NewNopSettings(metadata.Type), cfg)
	require.NoError(t, err)
	return e
}

func TestFactory(t *testing.T) {
	factory := NewFactory()
	assert.Equal(t, component.MustNewType("profile_view"), factory.Type())
	assert.Equal(t, component.StabilityLevelAlpha, factory.ProfilesStability())
	_, err := factory.CreateTraces(t.Context(), exportertest.NewNopSettings(metadata.Type), factory.CreateDefaultConfig())
	assert.Error(t, err, "profiles only")
	assert.False(t, create(t, nil).Capabilities().MutatesData)
}

func TestShutdownWithoutStart(t *testing.T) {
	require.NoError(t, create(t, nil).Shutdown(t.Context()))
}

func TestShutdownTwice(t *testing.T) {
	e := create(t, nil)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, e.Shutdown(t.Context()))
	require.NoError(t, e.Shutdown(t.Context()))
}

func TestConsumeBeforeStart(t *testing.T) {
	e := create(t, func(cfg *Config) {
		cfg.QueueConfig = configoptional.None[exporterhelper.QueueBatchConfig]()
		cfg.RetryConfig.Enabled = false
	})
	assert.ErrorContains(t, e.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "early")), "before the start")
	require.NoError(t, e.Shutdown(t.Context()))
}

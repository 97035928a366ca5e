// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"os"
	"path/filepath"
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
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/metadata"
)

func create(t *testing.T, cfg component.Config) xexporter.Profiles {
	t.Helper()
	e, err := NewFactory().CreateProfiles(t.Context(), exportertest.NewNopSettings(metadata.Type), cfg)
	require.NoError(t, err)
	return e
}

func configFor(directory string) *Config {
	cfg := createDefaultConfig().(*Config)
	cfg.File.GetOrInsertDefault().Directory = directory
	return cfg
}

func TestFactory(t *testing.T) {
	factory := NewFactory()
	assert.Equal(t, component.MustNewType("pprof"), factory.Type())
	assert.Equal(t, component.StabilityLevelAlpha, factory.ProfilesStability())
	_, err := factory.CreateTraces(t.Context(), exportertest.NewNopSettings(metadata.Type), factory.CreateDefaultConfig())
	assert.Error(t, err, "profiles only")
	assert.False(t, create(t, configFor(t.TempDir())).Capabilities().MutatesData)
}

func TestCreateRefusesWhatValidateWould(t *testing.T) {
	cfg := configFor(t.TempDir())
	cfg.File.Get().Path, cfg.File.Get().FileMode = "..", "9"
	_, err := NewFactory().CreateProfiles(t.Context(), exportertest.NewNopSettings(metadata.Type), cfg)
	require.Error(t, err)
	assert.ErrorContains(t, err, "leave")
	assert.ErrorContains(t, err, "octal")
}

func TestShutdownWithoutStart(t *testing.T) {
	e := create(t, configFor(t.TempDir()))
	require.NoError(t, e.Shutdown(t.Context()))
}

func TestShutdownTwice(t *testing.T) {
	e := create(t, configFor(t.TempDir()))
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, e.Shutdown(t.Context()))
	require.NoError(t, e.Shutdown(t.Context()))
}

func TestConsumeBeforeStart(t *testing.T) {
	cfg := configFor(t.TempDir())
	cfg.QueueConfig = configoptional.None[exporterhelper.QueueBatchConfig]()
	cfg.RetryConfig.Enabled = false
	e := create(t, cfg)
	assert.ErrorContains(t, e.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "early")), "before the start")
	require.NoError(t, e.Shutdown(t.Context()))
}

func TestStartFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	e := create(t, configFor(file))
	assert.ErrorContains(t, e.Start(t.Context(), componenttest.NewNopHost()), "cannot create the directory")
	require.NoError(t, e.Shutdown(t.Context()))
}

// A shutdown writes what is in the queue.
func TestShutdownWritesTheQueue(t *testing.T) {
	directory := t.TempDir()
	cfg := configFor(directory)
	cfg.QueueConfig.Get().NumConsumers = 1
	e := create(t, cfg)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	services := []string{"a", "b", "c", "d", "e"}
	for _, service := range services {
		require.NoError(t, e.ConsumeProfiles(t.Context(), deliverytest.CPU(t, service)))
	}
	require.NoError(t, e.Shutdown(t.Context()))
	for _, service := range services {
		found, err := filepath.Glob(filepath.Join(directory, service, "cpu", "*.pb.gz"))
		require.NoError(t, err)
		assert.Len(t, found, 1, service)
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/internal/testkit/lifecycletest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func create(t *testing.T, cfg component.Config) xexporter.Profiles {
	t.Helper()
	e := must.Get(NewFactory().CreateProfiles(t.Context(), exportertest.NewNopSettings(metadata.Type), cfg))(t)
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

func TestLifecycle(t *testing.T) {
	cfg := configFor(t.TempDir())
	lifecycletest.Check(t, func() (xexporter.Profiles, error) {
		return NewFactory().CreateProfiles(t.Context(), exportertest.NewNopSettings(metadata.Type), cfg)
	})
}

func TestConsumeBeforeStart(t *testing.T) {
	file := direct()
	file.File.GetOrInsertDefault().Directory = t.TempDir()
	for _, cfg := range []*Config{file, directHTTP("http://127.0.0.1:1")} {
		e := create(t, cfg)
		assert.ErrorContains(t, e.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "early")), "before the start")
		require.NoError(t, e.Shutdown(t.Context()))
	}
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
		found := must.Get(filepath.Glob(filepath.Join(directory, service, "cpu", "*.pb.gz")))(t)
		assert.Len(t, found, 1, service)
	}
}

func TestHealthReportsChanges(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	host := newRecorder()
	h := newHealth(host, zap.New(core))
	full, denied := errors.New("no space left"), errors.New("read-only")

	h.ok()
	assert.Empty(t, host.statuses(), "the collector reports the first OK")
	h.failed(full, false)
	h.failed(full, false)
	h.ok()
	h.ok()
	h.failed(full, false)
	assert.Equal(t, []componentstatus.Status{
		componentstatus.StatusRecoverableError, componentstatus.StatusOK, componentstatus.StatusRecoverableError,
	}, host.statuses())
	assert.ErrorIs(t, host.events[0].Err(), full)

	// The Collector leaves PermanentError only at a restart. Until then it logs a warning for each report.
	h.failed(denied, true)
	h.ok()
	h.failed(full, false)
	h.failed(denied, true)
	assert.Len(t, host.statuses(), 4)
	assert.Equal(t, componentstatus.StatusPermanentError, host.statuses()[3])
	assert.ErrorIs(t, host.events[3].Err(), denied)
	assert.Equal(t, 7, logs.Len(), "each change is one line")
}

// TestDeepValues sends to each destination a value that is nested so deeply that code which recurses into it ends the process. A
// queue on disk would do so at each start. The profile is refused and counted. The other profiles of the message arrive.
func TestDeepValues(t *testing.T) {
	profiletest.LimitStack(t, 64<<20) // pdata measures a message by calling itself for each level
	send := func(t *testing.T, to xexporter.Profiles, place string) {
		t.Helper()
		pd := deliverytest.Request(t, deliverytest.CPU(t, "deep"), deliverytest.CPU(t, "sound"))
		profiletest.Deepen(pd, place, 250_000)
		err := to.ConsumeProfiles(t.Context(), pd)
		require.ErrorContains(t, err, `attribute "deep" is too deep`)
		assert.True(t, consumererror.IsPermanent(err))
	}
	for _, place := range []string{"resource", "sample"} {
		t.Run(place, func(t *testing.T) {
			file := newFixture(t, nil)
			send(t, file, place)
			assert.Positive(t, file.services(t)["sound"])
			assert.Positive(t, counted(t, file.telemetry, "profiles_refused", "reason", delivery.ReasonInvalid))

			backend := newSink(t, nil)
			pushing := newPushing(t, backend.URL, nil)
			send(t, pushing, place)
			assert.NotEmpty(t, backend.requests())
			assert.Positive(t, counted(t, pushing.telemetry, "profiles_refused", "reason", delivery.ReasonInvalid))
		})
	}
}

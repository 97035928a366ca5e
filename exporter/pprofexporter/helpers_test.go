// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/xexporter"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// recorder is a host that keeps the reported status.
type recorder struct {
	component.Host
	mu     sync.Mutex
	events []*componentstatus.Event
}

func newRecorder() *recorder { return &recorder{Host: componenttest.NewNopHost()} }

func (r *recorder) Report(event *componentstatus.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

// first returns the first event.
func (r *recorder) first() *componentstatus.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events[0]
}

func (r *recorder) statuses() []componentstatus.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	statuses := make([]componentstatus.Status, 0, len(r.events))
	for _, event := range r.events {
		statuses = append(statuses, event.Status())
	}
	return statuses
}

// fixture is a started exporter without a queue and without retries.
type fixture struct {
	xexporter.Profiles
	directory string
	host      *recorder
	telemetry *componenttest.Telemetry
}

func newSettings(telemetry *componenttest.Telemetry) exporter.Settings {
	set := exportertest.NewNopSettings(metadata.Type)
	set.ID, set.TelemetrySettings = component.NewID(metadata.Type), telemetry.NewTelemetrySettings()
	return set
}

// direct returns a configuration without a queue and without retries.
func direct() *Config {
	cfg := createDefaultConfig().(*Config)
	cfg.QueueConfig = configoptional.None[exporterhelper.QueueBatchConfig]()
	cfg.RetryConfig.Enabled = false
	cfg.TimeoutConfig.Timeout = deliverytest.Patience
	return cfg
}

// directHTTP returns such a configuration for a URL.
func directHTTP(url string) *Config {
	cfg := direct()
	cfg.HTTP.GetOrInsertDefault().Client.Endpoint = url
	return cfg
}

// newFixture starts an exporter that writes to a directory.
func newFixture(t *testing.T, change func(*Config)) *fixture {
	t.Helper()
	return newFixtureAt(t, newRecorder(), change)
}

func newFixtureAt(t *testing.T, host component.Host, change func(*Config)) *fixture {
	t.Helper()
	cfg := direct()
	cfg.File.GetOrInsertDefault().Directory = t.TempDir()
	if change != nil {
		change(cfg)
	}
	f := started(t, host, cfg)
	f.directory = cfg.File.Get().Directory
	return f
}

// newPushing starts an exporter that sends to a URL.
func newPushing(t *testing.T, url string, change func(*Config)) *fixture {
	t.Helper()
	return newPushingAt(t, newRecorder(), url, change)
}

func newPushingAt(t *testing.T, host component.Host, url string, change func(*Config)) *fixture {
	t.Helper()
	cfg := directHTTP(url)
	if change != nil {
		change(cfg)
	}
	require.NoError(t, cfg.Validate())
	require.NoError(t, cfg.HTTP.Get().Validate())
	return started(t, host, cfg)
}

func started(t *testing.T, host component.Host, cfg *Config) *fixture {
	t.Helper()
	f := &fixture{telemetry: componenttest.NewTelemetry()}
	f.host, _ = host.(*recorder)
	var err error
	f.Profiles, err = NewFactory().CreateProfiles(t.Context(), newSettings(f.telemetry), cfg)
	require.NoError(t, err)
	require.NoError(t, f.Start(t.Context(), host))
	ctx := context.WithoutCancel(t.Context()) // which is over when Cleanup begins
	t.Cleanup(func() {
		assert.NoError(t, f.Shutdown(ctx))
		assert.NoError(t, f.telemetry.Shutdown(ctx))
	})
	return f
}

// files returns the paths below the exporter's directory. It omits files that are removed meanwhile.
func (f *fixture) files(tb testing.TB) []string {
	tb.Helper()
	var found []string
	require.NoError(tb, filepath.WalkDir(f.directory, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(f.directory, path)
			found = append(found, filepath.ToSlash(name))
		}
		return err
	}))
	return found
}

// services returns the number of files of each service.
func (f *fixture) services(tb testing.TB) map[string]int {
	tb.Helper()
	services := map[string]int{}
	for _, file := range f.files(tb) {
		service, _, _ := strings.Cut(file, "/")
		services[service]++
	}
	return services
}

// read reads a file as go tool pprof does.
func (f *fixture) read(tb testing.TB, name string) *profile.Profile {
	tb.Helper()
	data := must.Get(os.ReadFile(filepath.Join(f.directory, name)))(tb)
	require.True(tb, bytes.HasPrefix(data, []byte{0x1f, 0x8b}), "gzip")
	p := must.Get(profile.ParseData(data))(tb)
	require.NoError(tb, p.CheckValid())
	return p
}

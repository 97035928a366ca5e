// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/lifecycletest"
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
	assert.Empty(t, instances.byConfig)
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
	assert.Empty(t, instances.byConfig)
}

// TestTakenPort: if a server cannot listen, every part returns an error.
func TestTakenPort(t *testing.T) {
	cfg, addresses := configured(t)
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", addresses[1])
	require.NoError(t, err)
	defer listener.Close()
	for _, p := range createAll(t, cfg, all(), componentTelemetry()) {
		require.ErrorContains(t, p.Start(t.Context(), componenttest.NewNopHost()), "address already in use")
		defer func() { assert.NoError(t, p.Shutdown(t.Context())) }()
	}
	assert.False(t, listening(t, addresses[0]))
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

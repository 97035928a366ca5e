// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/xexporter"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/internal/testkit/configtest"
	"github.com/otelpprof/otelpprof/internal/testkit/lifecycletest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// load reads an entry of testdata/config.yaml.
func load(t *testing.T, entry string) *Config {
	t.Helper()
	return configtest.Named(t, createDefaultConfig().(*Config), entry)
}

func TestConfigDefaults(t *testing.T) {
	cfg := load(t, "profile_view")
	assert.Equal(t, createDefaultConfig(), cfg)
	assert.Equal(t, "localhost:4041", cfg.HTTP.NetAddr.Endpoint, "loopback unless told otherwise")
	assert.False(t, cfg.HTTP.CORS.HasValue())
}

func TestConfigAll(t *testing.T) {
	got := load(t, "profile_view/all")
	want := createDefaultConfig().(*Config)
	want.HTTP.NetAddr.Endpoint = "127.0.0.1:0"
	want.PathPrefix, want.AllowedHosts = "/profiling", []string{"profiles.example.com"}
	want.MaxMemory, want.MaxAge, want.MaxProfilesPerSeries = 1<<20, 10*time.Minute, 20
	want.MaxConcurrentRequests = 1
	want.Directory, want.MaxDisk = "/var/lib/profiles", 4<<20
	want.TraceURL = "https://traces.example.com/trace/{trace_id}?span={span_id}"
	want.Tenant = options.TenantConfig{Header: "X-Tenant", MetadataKey: "x-tenant", Default: "all"}
	want.QueueConfig.Get().NumConsumers = 2
	want.RetryConfig.MaxElapsedTime = 0
	want.Encoding = options.EncodingConfig{
		MaxPprofBytes: 1_000_000, Timestamps: options.TimestampsLabel, ResourceComments: true, PreferOriginalPayload: true,
		LinkLabels: options.LinkLabelsConfig{Trace: "trace id", Span: "span id"},
	}
	assert.Equal(t, want, got)
}

func TestConfigRefuses(t *testing.T) {
	configtest.CheckRefused(t, createDefaultConfig)
}

// Every YAML block is a valid configuration.
func TestReadmeSnippets(t *testing.T) {
	blocks := configtest.CheckSnippets(t, func(conf *confmap.Conf, exporter string) error {
		if exporter == "exporters::pprof" {
			return nil
		}
		_, err := configtest.Load(createDefaultConfig().(*Config), must.Get(conf.Sub(exporter))(t))
		return err
	})
	assert.Equal(t, 3, blocks)
}

// The README has every option with its default.
func TestReadmeNamesEveryOption(t *testing.T) {
	cfg := *createDefaultConfig().(*Config)
	configtest.CheckOptions(t, cfg, "")
	configtest.CheckOptions(t, cfg.Encoding, "")
	configtest.CheckOptions(t, cfg.Encoding.LinkLabels, "link_labels::")
	configtest.CheckOptions(t, cfg.Tenant, "tenant::")
}

// The reasons of the metrics are in the table of errors.
func TestReadmeTells(t *testing.T) {
	for _, reason := range []string{delivery.ReasonInvalid, delivery.ReasonTooLarge} {
		assert.Contains(t, configtest.Readme(t), fmt.Sprintf("| `profiles_refused`, `%s` |", reason))
	}
}

func create(t *testing.T, change func(*Config)) xexporter.Profiles {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.HTTP.NetAddr.Endpoint = deliverytest.FreeEndpoint(t)
	if change != nil {
		change(cfg)
	}
	e := must.Get(NewFactory().CreateProfiles(t.Context(), exportertest.NewNopSettings(metadata.Type), cfg))(t)
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

func TestLifecycle(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	cfg.HTTP.NetAddr.Endpoint = deliverytest.FreeEndpoint(t)
	lifecycletest.Check(t, func() (xexporter.Profiles, error) {
		return NewFactory().CreateProfiles(t.Context(), exportertest.NewNopSettings(metadata.Type), cfg)
	})
}

func TestConsumeBeforeStart(t *testing.T) {
	e := create(t, func(cfg *Config) {
		cfg.QueueConfig = configoptional.None[exporterhelper.QueueBatchConfig]()
		cfg.RetryConfig.Enabled = false
	})
	assert.ErrorContains(t, e.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "early")), "before the start")
	require.NoError(t, e.Shutdown(t.Context()))
}

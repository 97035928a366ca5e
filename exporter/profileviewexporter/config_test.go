// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/xexporter"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/internal/testkit/lifecycletest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// load reads one entry of a file of testdata and validates it.
func load(t *testing.T, file, entry string) (*Config, error) {
	t.Helper()
	conf := must.Get(confmaptest.LoadConf(filepath.Join("testdata", file)))(t)
	return configOf(t, conf, entry)
}

func configOf(t *testing.T, conf *confmap.Conf, entry string) (*Config, error) {
	t.Helper()
	require.True(t, conf.IsSet(entry), entry)
	section := must.Get(conf.Sub(entry))(t)
	cfg := createDefaultConfig().(*Config)
	if err := section.Unmarshal(cfg); err != nil {
		return cfg, err
	}
	return cfg, confmap.Validate(cfg)
}

func TestConfigDefaults(t *testing.T) {
	cfg := must.Get(load(t, "config.yaml", "profile_view"))(t)
	assert.Equal(t, createDefaultConfig(), cfg)
	assert.Equal(t, "localhost:4041", cfg.HTTP.NetAddr.Endpoint, "loopback unless told otherwise")
	assert.False(t, cfg.HTTP.CORS.HasValue())
}

func TestConfigAll(t *testing.T) {
	got := must.Get(load(t, "config.yaml", "profile_view/all"))(t)
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
	wants := map[string]string{
		"prefix without a slash":    `path_prefix must be empty or a clean path such as /profiling, is "profiling"`,
		"prefix that ends in one":   "path_prefix must be",
		"no memory":                 "max_memory must be above 0, is 0",
		"negative disk":             "max_disk must not be negative, is -1",
		"disk without a directory":  "max_disk needs directory",
		"storage":                   "storage is not an option any more: the option directory replaces it",
		"option of waiting":         "concurrency_wait is not an option any more: remove it: a request above max_concurrent_requests waits for 5s",
		"options of drawing":        "max_page_memory is not an option any more",
		"negative age":              "max_age must not be negative, is -1s",
		"no address":                "endpoint must be set",
		"trace URL without the id":  `trace_url must be an http or https URL with {trace_id} in its path, query or fragment, is "https://traces.example.com/"`,
		"trace URL of another kind": "trace_url must be an http or https URL",
		"no tenant header":          "tenant::header must not be empty",
		"unknown option":            "retention is not an option",
		"unknown timestamps":        `timestamps must be total or label, is "sum"`,
		"no trace label":            "link_labels::trace must not be empty",
		"no bytes of pprofs":        "max_pprof_bytes must be above 0, is 0",
		"queue of few bytes":        "sending_queue::queue_size is in bytes and must be at least 1048576, is 1000",
		"batch of the queue":        "sending_queue::batch is not supported: use batch of the processor profile_deduplicator",
		"time without a unit":       "max_age is 30ns, which is less than 1ms",
	}
	for entry, want := range wants {
		_, err := load(t, "bad.yaml", entry)
		assert.ErrorContains(t, err, want, entry)
	}
	conf := must.Get(confmaptest.LoadConf(filepath.Join("testdata", "bad.yaml")))(t)
	assert.Len(t, conf.ToStringMap(), len(wants), "each entry has its error")
}

// Every YAML block is a valid configuration.
func TestReadmeSnippets(t *testing.T) {
	blocks := deliverytest.CheckSnippets(t, func(conf *confmap.Conf, exporter string) error {
		if exporter == "exporters::pprof" {
			return nil
		}
		_, err := configOf(t, conf, exporter)
		return err
	})
	assert.Equal(t, 3, blocks)
}

// The README has every option with its default.
func TestReadmeNamesEveryOption(t *testing.T) {
	cfg := *createDefaultConfig().(*Config)
	deliverytest.CheckOptions(t, cfg, "")
	deliverytest.CheckOptions(t, cfg.Encoding, "")
	deliverytest.CheckOptions(t, cfg.Encoding.LinkLabels, "link_labels::")
	deliverytest.CheckOptions(t, cfg.Tenant, "tenant::")
}

// The reasons of the metrics are in the table of errors.
func TestReadmeTells(t *testing.T) {
	for _, reason := range []string{delivery.ReasonInvalid, delivery.ReasonTooLarge} {
		assert.Contains(t, deliverytest.Readme(t), fmt.Sprintf("| `profiles_refused`, `%s` |", reason))
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

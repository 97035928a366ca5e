// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/internal/filestore"
	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/internal/testkit/configtest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// load reads an entry of testdata/config.yaml.
func load(t *testing.T, entry string) *Config {
	t.Helper()
	return configtest.Named(t, createDefaultConfig().(*Config), entry)
}

func TestConfigDefaults(t *testing.T) {
	cfg := load(t, "pprof")
	assert.Equal(t, &Config{
		TimeoutConfig: exporterhelper.TimeoutConfig{Timeout: 5 * time.Second},
		QueueConfig:   options.NewDefaultQueue(),
		RetryConfig:   configretry.NewDefaultBackOffConfig(),
		File: configoptional.Some(FileConfig{
			Directory:        "/var/lib/profiles",
			Path:             "{service.name}/{profile.type}/{time}-{profile.id}.pb.gz",
			Time:             TimeArrival,
			CompressionLevel: 1,
			FileMode:         "0640",
			DirectoryMode:    "0750",
		}),
		HTTP: configoptional.Default(newDefaultHTTPConfig()),
		Encoding: options.EncodingConfig{
			MaxPprofBytes: 64 << 20,
			Timestamps:    options.TimestampsTotal,
			LinkLabels:    options.LinkLabelsConfig{Trace: "trace_id", Span: "span_id"},
		},
	}, cfg)
	queue := cfg.QueueConfig.Get()
	assert.Equal(t, exporterhelper.RequestSizerTypeBytes, queue.Sizer)
	assert.Equal(t, int64(64<<20), queue.QueueSize)
	assert.Equal(t, 4, queue.NumConsumers)
}

func TestConfigAll(t *testing.T) {
	cfg := load(t, "pprof/all")
	assert.Equal(t, &FileConfig{
		Directory:        "./profiles",
		Path:             "{deployment.environment.name}/{service.name}/{profile.type}-{time}-{profile.id}.pb.gz",
		Time:             TimeKeep,
		CompressionLevel: 9,
		MaxAge:           7 * 24 * time.Hour,
		MaxTotalSize:     10 << 30,
		MaxFiles:         100_000,
		FileMode:         "0644",
		DirectoryMode:    "0755",
	}, cfg.File.Get())
	assert.Equal(t, options.EncodingConfig{
		MaxPprofBytes:         1_000_000,
		Timestamps:            options.TimestampsLabel,
		LinkLabels:            options.LinkLabelsConfig{Trace: "trace id", Span: "span id"},
		ResourceComments:      true,
		PreferOriginalPayload: true,
	}, cfg.Encoding)
	assert.Equal(t, 30*time.Second, cfg.TimeoutConfig.Timeout)
	assert.EqualValues(t, 10, cfg.QueueConfig.Get().QueueSize)
	assert.Zero(t, cfg.RetryConfig.MaxElapsedTime)
}

func TestConfigRefuses(t *testing.T) {
	configtest.CheckRefused(t, createDefaultConfig)
	section := must.Get(must.Get(confmaptest.LoadConf(filepath.Join("testdata", "config.yaml")))(t).Sub("pprof/none"))(t)
	_, err := configtest.Load(createDefaultConfig().(*Config), section)
	assert.ErrorContains(t, err, "no destination")
}

func TestConfigHTTP(t *testing.T) {
	cfg := load(t, "pprof/http")
	got := cfg.HTTP.Get()
	assert.Equal(t, FormatRaw, got.Format)
	assert.Equal(t, map[string]string{"app": "{service.name}", "type": "{profile.type}"}, got.Query, "the default query is gone")
	assert.True(t, got.QueryResource)
	assert.Equal(t, 2, got.CompressionLevel)
	assert.False(t, cfg.File.HasValue())

	cfg = load(t, "pprof/pyroscope")
	got = cfg.HTTP.Get()
	assert.Equal(t, FormatPyroscopePush, got.Format)
	assert.Equal(t, LabelsConfig{Max: 5, First: []string{"k8s.namespace.name"}}, got.Labels)
	assert.Equal(t, options.TenantConfig{Header: "X-Tenant", MetadataKey: "x-tenant", Default: "all"}, got.Tenant)
	assert.Equal(t, 10, got.MaxSeriesPerRequest)
	assert.Equal(t, 1<<20, got.MaxRequestBytes)
}

// The README has every option with its default.
func TestReadmeNamesEveryOption(t *testing.T) {
	configtest.CheckOptions(t, *createDefaultConfig().(*Config), "")
	configtest.CheckOptions(t, options.NewDefaultEncodingConfig(), "")
	configtest.CheckOptions(t, options.NewDefaultEncodingConfig().LinkLabels, "link_labels::")
	configtest.CheckOptions(t, newDefaultFileConfig(), "")
	configtest.CheckOptions(t, newDefaultHTTPConfig(), "")
	configtest.CheckOptions(t, newDefaultHTTPConfig().Labels, "labels::")
	configtest.CheckOptions(t, newDefaultHTTPConfig().Tenant, "tenant::")
}

// The table of errors has the reasons of the metrics. The example of a cleaned name is real.
func TestReadmeTells(t *testing.T) {
	text := configtest.Readme(t)
	for metric, reasons := range map[string][]string{
		"write_failures":   {filestore.ClassFull, filestore.ClassDenied, filestore.ClassOther},
		"profiles_refused": {delivery.ReasonInvalid, filestore.ClassBlocked, refusedRejected, delivery.ReasonTooLarge},
	} {
		for _, reason := range reasons {
			assert.Contains(t, text, fmt.Sprintf("| `%s`, `%s` |", metric, reason))
		}
	}
	f := newFixture(t, nil)
	require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a/b")))
	for service := range f.services(t) {
		assert.Contains(t, text, "`a/b` becomes `"+service+"`")
	}
}

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
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/internal/options"
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
	cfg := must.Get(load(t, "config.yaml", "pprof"))(t)
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
	cfg := must.Get(load(t, "config.yaml", "pprof/all"))(t)
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
	wants := map[string]string{
		"no destination":                           "no destination: set file or http",
		"no directory":                             "directory must be set",
		"absolute path":                            `path "/etc/{profile.id}.pb.gz": must be relative`,
		"path that climbs":                         `segment 2: ".." would leave the directory`,
		"unclosed placeholder":                     "has a { without a }",
		"empty placeholder":                        "has the placeholder {}",
		"other suffix":                             "must end in .pb.gz",
		"compression level":                        "compression_level must be 1 to 9, is 10",
		"no compression level":                     "compression_level must be 1 to 9, is 0",
		"negative age":                             "max_age must not be negative, is -1h0m0s",
		"negative size":                            "max_total_size must not be negative, is -1",
		"mode that is a number":                    "'file_mode' expected type 'string'",
		"mode that is not octal":                   `file_mode must be an octal number from "0000" to "0777", not "0648"`,
		"mode with a sticky bit":                   `directory_mode must be an octal number from "0000" to "0777", not "1777"`,
		"file that its owner cannot read":          `file_mode must have 0400 for the owner, it is "0240"`,
		"directory that its owner cannot write to": `directory_mode must have 0700 for the owner, it is "0550"`,
		"unknown time":                             `time must be arrival or keep, is "now"`,
		"two destinations":                         "an exporter has one destination, but this one has file and http: write one exporter for each, such as pprof/file and pprof/http",
		"no endpoint":                              "endpoint must be set",
		"endpoint without a scheme":                "endpoint must be http://host or https://host",
		"placeholder in the host":                  "cannot read the endpoint",
		"placeholder for pyroscope":                "endpoint must not have placeholders with the format pyroscope",
		"unknown format":                           `format must be raw, pyroscope, pyroscope_push or parca, is "json"`,
		"query without an end":                     "query: service.name: has a { without a }",
		"header without a key":                     "resource_headers: X-A: has the placeholder {}",
		"unknown option of http":                   "http::retries is not an option",
		"numbers of http":                          "labels::max must not be negative, is -1",
		"server":                                   `write profile_view: {endpoint: "127.0.0.1:4041"} under exporters`,
		"server beside a file":                     `write profile_view: {endpoint: "localhost:4041"} under exporters`,
		"unknown timestamps":                       `timestamps must be total or label, is "sum"`,
		"no trace label":                           "link_labels::trace must not be empty",
		"unknown option":                           "file::rotate is not an option, the options are compression_level",
		"negative timeout":                         "timeout value must be greater than or equal to 0",
		"empty queue":                              "`queue_size` must be positive",
		"queue of few bytes":                       "sending_queue::queue_size is in bytes and must be at least 1048576, is 1000",
		"batch of the queue":                       "sending_queue::batch is not supported: use batch of the processor profile_deduplicator",
		"no bytes of pprofs":                       "max_pprof_bytes must be above 0, is 0",
	}
	for entry, want := range wants {
		_, err := load(t, "bad.yaml", entry)
		assert.ErrorContains(t, err, want, entry)
	}
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "bad.yaml"))
	require.NoError(t, err)
	assert.Len(t, conf.ToStringMap(), len(wants), "each entry has its error")
	_, err = load(t, "config.yaml", "pprof/none")
	assert.ErrorContains(t, err, "no destination")
}

func TestConfigHTTP(t *testing.T) {
	cfg, err := load(t, "config.yaml", "pprof/http")
	require.NoError(t, err)
	got := cfg.HTTP.Get()
	assert.Equal(t, FormatRaw, got.Format)
	assert.Equal(t, map[string]string{"app": "{service.name}", "type": "{profile.type}"}, got.Query, "the default query is gone")
	assert.True(t, got.QueryResource)
	assert.Equal(t, 2, got.CompressionLevel)
	assert.Equal(t, []string{"http"}, cfg.destinations())

	cfg, err = load(t, "config.yaml", "pprof/pyroscope")
	require.NoError(t, err)
	got = cfg.HTTP.Get()
	assert.Equal(t, FormatPyroscopePush, got.Format)
	assert.Equal(t, LabelsConfig{Max: 5, First: []string{"k8s.namespace.name"}}, got.Labels)
	assert.Equal(t, options.TenantConfig{Header: "X-Tenant", MetadataKey: "x-tenant", Default: "all"}, got.Tenant)
	assert.Equal(t, 10, got.MaxSeriesPerRequest)
	assert.Equal(t, 1<<20, got.MaxRequestBytes)
}

// The README has every option with its default.
func TestReadmeNamesEveryOption(t *testing.T) {
	deliverytest.CheckOptions(t, *createDefaultConfig().(*Config), "")
	deliverytest.CheckOptions(t, options.NewDefaultEncodingConfig(), "")
	deliverytest.CheckOptions(t, options.NewDefaultEncodingConfig().LinkLabels, "link_labels::")
	deliverytest.CheckOptions(t, newDefaultFileConfig(), "")
	deliverytest.CheckOptions(t, newDefaultHTTPConfig(), "")
	deliverytest.CheckOptions(t, newDefaultHTTPConfig().Labels, "labels::")
	deliverytest.CheckOptions(t, newDefaultHTTPConfig().Tenant, "tenant::")
}

// The table of errors has the reasons of the metrics. The example of a cleaned name is real.
func TestReadmeTells(t *testing.T) {
	text := deliverytest.Readme(t)
	for metric, reasons := range map[string][]string{
		"write_failures":   {failedFull, failedDenied, failedOther},
		"profiles_refused": {delivery.ReasonInvalid, refusedBlocked, refusedRejected, delivery.ReasonTooLarge},
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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/testkit/configtest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// load reads a configuration as the Collector does.
func load(conf *confmap.Conf) (*Config, error) {
	return configtest.Load(createDefaultConfig().(*Config), conf)
}

func loadFile(t *testing.T, name string) *Config {
	t.Helper()
	return configtest.Named(t, createDefaultConfig().(*Config), name)
}

func TestDefaultConfig(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	require.NoError(t, confmap.Validate(cfg))
	server := cfg.Server.Get()
	require.NotNil(t, server)
	assert.Equal(t, "localhost:4040", server.HTTP.NetAddr.Endpoint)
	assert.Equal(t, "/v1/pprof", server.Path)
	assert.EqualValues(t, 20<<20, server.HTTP.MaxRequestBodySize)
	assert.Greater(t, server.HTTP.WriteTimeout, server.HTTP.ReadTimeout, "the answer to a slow sender must still go out")
	assert.False(t, server.LegacyFormats)

	options := cfg.decodeOptions()
	limits := pprof.DefaultLimits()
	limits.LocationsPerSample, limits.LabelsPerSample = 0, 0 // the defaults of the translator
	assert.Equal(t, limits, options.Limits)
	assert.Equal(t, pprof.DefaultLinkLabels(), options.LinkLabels)
	assert.Nil(t, options.TimestampLabels)
	assert.False(t, options.KeepThreadLabels)
	assert.False(t, options.KeepZeroValues)
	assert.False(t, options.KeepUnreferencedMappings)
	assert.False(t, options.IncludeOriginalPayload)
}

func TestLoadDefaults(t *testing.T) {
	for _, name := range []string{"pprof", "pprof/empty_server", "pprof/empty_server_section"} {
		assert.Equal(t, createDefaultConfig(), loadFile(t, name), name)
	}
}

func TestLoadContrib(t *testing.T) {
	server := loadFile(t, "pprof/contrib").Server.Get()
	require.NotNil(t, server)
	assert.Equal(t, "0.0.0.0:8080", server.HTTP.NetAddr.Endpoint)
	assert.EqualValues(t, 10485760, server.HTTP.MaxRequestBodySize)
	assert.True(t, server.HTTP.IncludeMetadata)
	assert.Equal(t, 20*time.Second, server.HTTP.ReadHeaderTimeout)
	keepalive := server.HTTP.Keepalive.Get()
	require.NotNil(t, keepalive)
	assert.Equal(t, 2*time.Minute, keepalive.IdleTimeout)
	assert.True(t, server.HTTP.TLS.HasValue())
	assert.True(t, server.HTTP.CORS.HasValue())
	assert.True(t, server.HTTP.Auth.HasValue())
	assert.Equal(t, "/v1/pprof", server.Path)
}

func TestLoadAll(t *testing.T) {
	cfg := loadFile(t, "pprof/all")
	assert.Equal(t, pprof.DecodeOptions{
		Limits: pprof.Limits{
			InflatedBytes: 1 << 20, Samples: 1000,
		},
		LinkLabels: []pprof.LinkLabels{{Trace: "my.trace", Span: "my.span", Decimal: true}, {Trace: "only.trace"}},
		TimestampLabels: []pprof.TimestampLabel{
			{Label: "source.event.time", Unit: time.Millisecond},
			{Label: "end_timestamp_ns", Unit: time.Nanosecond},
			{Label: "timestamp", Unit: time.Nanosecond},
			{Label: "__timestamp__", Unit: time.Second},
			{Label: "ms", Unit: time.Millisecond},
			{Label: "us", Unit: time.Microsecond},
			{Label: "ns", Unit: time.Nanosecond},
		},
		KeepThreadLabels:         true,
		KeepZeroValues:           true,
		KeepUnreferencedMappings: true,
		IncludeOriginalPayload:   true,
	}, cfg.decodeOptions())
	assert.True(t, cfg.KeepGeneratedNames)

	resource := must.Get(cfg.resourceDefaults())(t)
	assert.Equal(t, map[string]any{
		"deployment.environment.name": "production", "replicas": int64(3), "zones": []any{"a", "b"},
	}, resource.AsRaw())

	assert.Equal(t, 5, cfg.Limits.Payloads)

	server := cfg.Server.Get()
	require.NotNil(t, server)
	assert.Equal(t, "/profiles", server.Path)
	assert.Equal(t, APIsConfig{Pprof: true, PyroscopePush: true, Datadog: true, Parca: true}, server.APIs)
	assert.Equal(t, 7, server.MaxConcurrentRequests)
	assert.Equal(t, TenantFromAddress, server.TenantFrom)
	assert.True(t, server.LegacyFormats)
	assert.Equal(t, 5*time.Second, server.HTTP.ReadTimeout)
	assert.Equal(t, map[string]string{"X-Host": "host.name", "X-Service": "service.name"}, server.ResourceHeaders)
}

func TestLoadNoLinks(t *testing.T) {
	options := loadFile(t, "pprof/no_links").decodeOptions()
	assert.NotNil(t, options.LinkLabels, "nil would mean the default")
	assert.Empty(t, options.LinkLabels)
}

func TestLoadBad(t *testing.T) { configtest.CheckRefused(t, createDefaultConfig) }

// TestReadmeSnippets loads every YAML block.
func TestReadmeSnippets(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(configtest.Readme(t), -1)
	require.NotEmpty(t, blocks)
	for i, block := range blocks {
		retrieved := must.Get(confmap.NewRetrievedFromYAML([]byte(block[1])))(t)
		conf := must.Get(retrieved.AsConf())(t)
		sub := must.Get(conf.Sub("receivers::pprof"))(t)
		cfg, err := load(sub)
		require.NoError(t, err, "block %d", i)
		if i == 0 {
			assert.Equal(t, createDefaultConfig(), cfg)
		}
	}
}

// TestReadmeNamesEveryFormat: the README has each format that a request can name.
func TestReadmeNamesEveryFormat(t *testing.T) {
	text := configtest.Readme(t)
	for _, format := range namedFormats {
		for _, name := range format.names {
			assert.Contains(t, text, "`"+name+"`")
		}
	}
}

// TestReadmeNamesEveryOption: the README has each option, with its default if that is a number or text.
func TestReadmeNamesEveryOption(t *testing.T) {
	text := configtest.Readme(t)
	cfg := createDefaultConfig().(*Config)
	for _, section := range []any{
		*cfg, cfg.Limits, cfg.LinkLabels[0], *cfg.Server.Get(), cfg.Server.Get().APIs,
		defaultSchedule(), defaultRemoteConfig(), defaultScrapeConfig(),
		TargetConfig{},
		ScrapedProfile{},
		defaultFileConfig(), defaultSelfConfig(),
	} {
		value := reflect.ValueOf(section)
		for i := range value.NumField() {
			key := value.Type().Field(i).Tag.Get(confmap.MapstructureTag)
			if key == "" || strings.HasPrefix(key, ",") {
				continue
			}
			want := "`" + key + "`"
			switch field := value.Field(i); field.Kind() {
			case reflect.Int:
				want = fmt.Sprintf("| `%s` | %d", key, field.Int())
			case reflect.Bool:
				want = fmt.Sprintf("| `%s` | %t |", key, field.Bool())
			}
			if !strings.Contains(text, want) {
				t.Errorf("the README does not say %s", want)
			}
		}
	}
}

// TestReadmeNamesEveryAnswer: the table of answers has a row for each class.
func TestReadmeNamesEveryAnswer(t *testing.T) {
	text := configtest.Readme(t)
	for _, answer := range answers {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\|[^|]*\| %d[^|]*\| .%s. \|`, answer.status, answer.reason))
		assert.True(t, row.MatchString(text), "no row of %s", answer.reason)
		if answer.retryable {
			again := regexp.MustCompile(fmt.Sprintf(`%d, .Retry-After. \| .%s. \| yes`, answer.status, answer.reason))
			assert.True(t, again.MatchString(text), "%s may be sent again", answer.reason)
		}
	}
}

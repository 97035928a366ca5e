// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/collector/processor/xprocessor"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/internal/testkit/lifecycletest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// configOf decodes and validates a configuration.
func configOf(conf *confmap.Conf) (*Config, error) {
	cfg := createDefaultConfig().(*Config)
	if err := conf.Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func TestConfig(t *testing.T) {
	conf := must.Get(confmaptest.LoadConf("testdata/config.yaml"))(t)
	cfg := must.Get(configOf(conf))(t)
	assert.Equal(t, []string{"/usr/lib/debug"}, cfg.Directories)
	require.Len(t, cfg.Debuginfod, 2)
	assert.Equal(t, "http://127.0.0.1:8002", cfg.Debuginfod[0].HTTP.Endpoint)
	assert.Equal(t, 90*time.Second, cfg.Debuginfod[1].HTTP.Timeout)
	assert.True(t, cfg.Debuginfod[1].HTTP.ForceAttemptHTTP2, "a default of confighttp")
	assert.Equal(t, CacheConfig{Directory: "/var/cache/symbols", MaxSize: 64 << 20}, cfg.Cache)
	uploads := cfg.Uploads.Get()
	require.NotNil(t, uploads)
	assert.Equal(t, "127.0.0.1:7171", uploads.HTTP.NetAddr.Endpoint)
	assert.Equal(t, 5*time.Minute, uploads.HTTP.ReadTimeout, "a default")
	assert.EqualValues(t, 128<<20, cfg.MaxIndexMemory)
	assert.Equal(t, time.Second, cfg.MaxWait)
}

// The name of a section alone turns it on.
func TestDefaultUploads(t *testing.T) {
	cfg := must.Get(configOf(confmap.NewFromStringMap(map[string]any{"uploads": nil})))(t)
	require.NotNil(t, cfg.Uploads.Get())
	assert.Equal(t, "localhost:7070", cfg.Uploads.Get().HTTP.NetAddr.Endpoint)
	assert.Nil(t, createDefaultConfig().(*Config).Uploads.Get())
}

func TestBadConfig(t *testing.T) {
	for want, values := range map[string]map[string]any{
		"there is no source":                   {},
		"must be an absolute path":             {"directories": []any{"symbols"}},
		"begins with http://":                  {"debuginfod": []any{map[string]any{"endpoint": "debuginfod.example.com"}}},
		"endpiont":                             {"debuginfod": []any{map[string]any{"endpiont": "http://127.0.0.1:8002"}}},
		"max_wait must be 0s to 1m0s":          {"directories": []any{"/"}, "max_wait": "2m"},
		"concurrent_fetches must be 1 to 64":   {"directories": []any{"/"}, "concurrent_fetches": 0},
		"missing_for must be above 0":          {"directories": []any{"/"}, "missing_for": "0s"},
		"failed_for must be above 0":           {"directories": []any{"/"}, "failed_for": "0s"},
		"fetch_timeout must be above 0":        {"directories": []any{"/"}, "fetch_timeout": "0s"},
		"index_timeout must be above 0":        {"directories": []any{"/"}, "index_timeout": "0s"},
		"max_file_size must be above 0":        {"directories": []any{"/"}, "max_file_size": 0},
		"cache::max_size must be above 0":      {"directories": []any{"/"}, "cache": map[string]any{"max_size": 0}},
		"max_index_memory must be at least":    {"directories": []any{"/"}, "max_index_memory": 1},
		"which is less than 1ms: write a unit": {"directories": []any{"/"}, "index_timeout": 30},
		"uploads::endpoint must have a port":   {"uploads": map[string]any{"endpoint": "localhost"}},
		"uploads::read_timeout must be above":  {"uploads": map[string]any{"read_timeout": "0s"}},
		"uploads::max_size, which is for several files, must be at least 1073741824, is 1": {"uploads": map[string]any{"max_size": 1}},
		"directory_names": {"directory_names": []any{"/"}},
	} {
		_, err := configOf(confmap.NewFromStringMap(values))
		assert.ErrorContains(t, err, want)
	}
}

// The README has every option with its default, and its configuration is valid.
func TestReadme(t *testing.T) {
	text := must.Get(os.ReadFile("README.md"))(t)
	cfg := createDefaultConfig().(*Config)
	for _, section := range []any{*cfg, cfg.Cache} {
		value := reflect.ValueOf(section)
		for key, field := range configcheck.Fields(value.Type()) {
			option := value.FieldByIndex(field.Index)
			cell := ""
			switch {
			case option.Type() == reflect.TypeFor[time.Duration]():
				cell = regexp.MustCompile(`(m|h)0s$|0m0s$`).ReplaceAllString(fmt.Sprint(option), "$1")
				cell = regexp.MustCompile(`h0m$`).ReplaceAllString(cell, "h")
			case option.CanInt(), option.Kind() == reflect.Bool:
				cell = fmt.Sprint(option)
			case option.Kind() != reflect.Struct:
				cell = "none"
			}
			assert.Contains(t, string(text), "| `"+key+"` | "+cell)
		}
	}
	assert.Contains(t, string(text), fmt.Sprint("| `max_size` | ", createDefaultUploads().MaxSize))
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	require.NotNil(t, block)
	retrieved := must.Get(confmap.NewRetrievedFromYAML(block[1]))(t)
	conf := must.Get(retrieved.AsConf())(t)
	processor := must.Get(conf.Sub("processors::profile_symbolizer"))(t)
	_, err := configOf(processor)
	assert.NoError(t, err)
}

func TestLifecycle(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	cfg.Directories = []string{"/usr/lib/debug"}
	lifecycletest.Check(t, func() (xprocessor.Profiles, error) {
		return NewFactory().CreateProfiles(t.Context(), processortest.NewNopSettings(typ), cfg, consumertest.NewNop())
	})
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.yaml.in/yaml/v3"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// configOf unmarshals and validates a section.
func configOf(section *confmap.Conf) (*Config, error) {
	cfg := createDefaultConfig().(*Config)
	if err := section.Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

// load reads an entry of testdata/config.yaml.
func load(t *testing.T, entry string) *Config {
	t.Helper()
	conf := must.Get(confmaptest.LoadConf(filepath.Join("testdata", "config.yaml")))(t)
	require.True(t, conf.IsSet(entry), entry)
	section := must.Get(conf.Sub(entry))(t)
	cfg := must.Get(configOf(section))(t)
	return cfg
}

func TestConfigDefaults(t *testing.T) {
	cfg := load(t, "profile_deduplicator")
	assert.Equal(t, createDefaultConfig(), cfg)
	assert.Equal(t, dedup.Options{Shape: dedup.ShapeCombined, OnInvalid: dedup.DropProfile, DropPartialLinks: true, ClearNegativeLines: true, NameFunctions: true, WidenTimes: true}, cfg.options())
	for _, section := range []interface{ HasValue() bool }{cfg.Batch, cfg.DropRepeated, cfg.MergeProfiles} {
		assert.False(t, section.HasValue(), "off by default")
	}
	assert.False(t, load(t, "profile_deduplicator/off").Batch.HasValue())
}

// An empty section is enabled, with its defaults.
func TestConfigDefaultsOfSections(t *testing.T) {
	cfg := load(t, "profile_deduplicator/sections")
	assert.Equal(t, BatchConfig{
		WaitForResult:            true,
		Timeout:                  200 * time.Millisecond,
		MaxSamples:               100_000,
		MaxBytes:                 4_000_000,
		MetadataCardinalityLimit: 1000,
		RetryConfig: configretry.BackOffConfig{
			Enabled:             false,
			InitialInterval:     time.Second,
			MaxInterval:         30 * time.Second,
			MaxElapsedTime:      5 * time.Minute,
			Multiplier:          1.5,
			RandomizationFactor: 0.5,
		},
	}, *cfg.Batch.Get())
	assert.Equal(t, DropRepeatedConfig{TTL: 10 * time.Minute, MaxEntries: 100_000}, *cfg.DropRepeated.Get())
	assert.Equal(t, defaultMergeProfilesConfig(), *cfg.MergeProfiles.Get())
}

func TestConfigAll(t *testing.T) {
	cfg := load(t, "profile_deduplicator/all")
	assert.Equal(t, dedup.Options{
		Shape:              dedup.ShapePerEvent,
		DropZeroSamples:    true,
		DropAttributes:     []string{"thread.id", "thread.name"},
		OnInvalid:          dedup.Reject,
		ClearNegativeLines: true, NameFunctions: true,

		DropEmptyProfiles: true,
	}, cfg.options())
	assert.Equal(t, []string{"process.executable.name"}, cfg.GroupByAttributes)
	batch := cfg.Batch.Get()
	assert.True(t, batch.WaitForResult)
	assert.Equal(t, 5*time.Second, batch.Timeout)
	assert.Equal(t, 5000, batch.MaxSamples)
	assert.Equal(t, 1_000_000, batch.MaxBytes)
	assert.EqualValues(t, 64_000_000, batch.MaxHeldBytes)
	assert.Equal(t, 20, batch.MetadataCardinalityLimit)
	assert.Equal(t, time.Minute, batch.RetryConfig.MaxElapsedTime)
	assert.True(t, batch.RetryConfig.Enabled)
	assert.Equal(t, DropRepeatedConfig{TTL: time.Hour, MaxEntries: 5000}, *cfg.DropRepeated.Get())
	assert.Equal(t, []string{"X-Scope-OrgID"}, cfg.repeatedKeys(), "tenants of batches are tenants of ids")
	assert.Equal(t, []string{"inuse_space", "inuse_*/count"}, cfg.MergeProfiles.Get().GaugeTypes)

	cfg = load(t, "profile_deduplicator/ids")
	assert.Equal(t, dedup.Options{Shape: dedup.ShapeTotal, OnInvalid: dedup.Pass, DropPartialLinks: true, ClearNegativeLines: true, NameFunctions: true, WidenTimes: true}, cfg.options())
	assert.Equal(t, []string{"X-Scope-OrgID"}, cfg.repeatedKeys())
}

// If senders wait for the result, they retry themselves. So batches are retried only if the section configures it.
func TestConfigRetries(t *testing.T) {
	for retries, section := range map[string]map[string]any{
		"off":               {"timeout": "1s"},
		"on, and all wait":  {"retry_on_failure": map[string]any{"max_interval": "1s", "max_elapsed_time": "3s"}},
		"on, and none wait": {"wait_for_result": false},
		"off, and none wait": {
			"wait_for_result": false, "retry_on_failure": map[string]any{"enabled": false},
		},
	} {
		cfg := must.Get(configOf(confmap.NewFromStringMap(map[string]any{"batch": section})))(t)
		assert.Equal(t, strings.HasPrefix(retries, "on"), cfg.Batch.Get().RetryConfig.Enabled, retries)
		assert.Equal(t, !strings.HasSuffix(retries, "none wait"), cfg.Batch.Get().WaitForResult, retries)
	}
}

func TestConfigRefuses(t *testing.T) {
	content := must.Get(os.ReadFile(filepath.Join("testdata", "bad_config.yaml")))(t)
	var entries []struct {
		Want    string         `yaml:"want"`
		Section map[string]any `yaml:"profile_deduplicator"`
	}
	require.NoError(t, yaml.Unmarshal(content, &entries))
	require.NotEmpty(t, entries)
	for _, entry := range entries {
		_, err := configOf(confmap.NewFromStringMap(entry.Section))
		assert.ErrorContains(t, err, entry.Want)
	}
}

func TestGaugeTypes(t *testing.T) {
	defaults := defaultMergeProfilesConfig()
	for _, each := range profiletest.SampleTypes() {
		assert.Equal(t, !each.Gauge, defaults.delta(each.Name, each.Unit), each.Name)
	}
	own := MergeProfilesConfig{GaugeTypes: []string{"queue*/item*", "size/bytes", "*/ratio"}}
	require.NoError(t, own.Validate())
	assert.False(t, own.delta("queue_length", "items"))
	assert.True(t, own.delta("queue_length", "bytes"))
	assert.False(t, own.delta("size", "bytes"))
	assert.True(t, own.delta("size", "count"))
	assert.False(t, own.delta("anything", "ratio"))
	assert.True(t, own.delta("inuse_space", "bytes"), "the list replaces the default")
}

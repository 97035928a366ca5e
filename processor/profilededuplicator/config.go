// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/gaugetypes"
)

// Config is the configuration of one processor.
type Config struct {
	// SampleShape is the form of the samples in the result (default: combined).
	SampleShape dedup.Shape `mapstructure:"sample_shape" words:"combined per_event total"`
	// DropZeroSamples drops samples whose values are all zero (default: false).
	DropZeroSamples bool `mapstructure:"drop_zero_samples"`
	// DropAttributes are keys of sample attributes to drop, so that samples that differ in nothing else are combined.
	DropAttributes []string `mapstructure:"drop_attributes"`
	// GroupByAttributes are keys of sample attributes to move to the resource. Samples with different values get different
	// resources (default: none).
	GroupByAttributes []string `mapstructure:"group_by_attributes"`
	// OnInvalid is what to do with a profile that violates the format (default: drop_profile).
	OnInvalid dedup.OnInvalid `mapstructure:"on_invalid" words:"drop_profile reject pass"`
	// LinksWithoutSpan is what to do with links that name only a trace, or only a span (default: drop).
	LinksWithoutSpan string `mapstructure:"links_without_span" words:"drop keep"`
	// TimestampsOutside is what to do with a profile whose time range does not hold all timestamps of its samples (default:
	// widen).
	TimestampsOutside string `mapstructure:"timestamps_outside" words:"widen keep"`
	// DropEmptyProfiles drops profiles without samples (default: false).
	DropEmptyProfiles bool `mapstructure:"drop_empty_profiles"`

	// Batch joins messages (default: off, each message is passed on by itself).
	Batch configoptional.Optional[BatchConfig] `mapstructure:"batch"`
	// DropRepeated drops profiles whose id was delivered before (default: off).
	DropRepeated configoptional.Optional[DropRepeatedConfig] `mapstructure:"drop_repeated"`
	// MergeProfiles merges profiles of one batch that differ in time only (default: off).
	MergeProfiles configoptional.Optional[MergeProfilesConfig] `mapstructure:"merge_profiles"`

	// prevent unkeyed literal initialization
	_ struct{}
}

const (
	// linksDrop, of links_without_span, replaces the link with an attribute of the sample that has the id.
	linksDrop = "drop"
	// timestampsWiden, of timestamps_outside, widens the time range, by ten minutes on each side at most.
	timestampsWiden = "widen"
)

var (
	_ component.Config    = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

// Replaced has the options of earlier versions, and what to do instead.
func (*Config) Replaced() map[string]string {
	return map[string]string{
		"negative_lines":         "remove it: lines below 0 become 0",
		"functions_without_name": "remove it: functions without a name are called (anonymous)",
	}
}

// Unmarshal reads the configuration. An unknown key is an error.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

func createDefaultConfig() component.Config {
	return &Config{
		SampleShape:       dedup.ShapeCombined,
		OnInvalid:         dedup.DropProfile,
		LinksWithoutSpan:  linksDrop,
		TimestampsOutside: timestampsWiden,
		Batch:             configoptional.Default(defaultBatchConfig()),
		DropRepeated:      configoptional.Default(defaultDropRepeatedConfig()),
		MergeProfiles:     configoptional.Default(defaultMergeProfilesConfig()),
	}
}

// Validate checks the options outside of the sections, and combinations of sections.
func (c *Config) Validate() error {
	errs := []error{configcheck.Durations(c)}
	if c.MergeProfiles.HasValue() && !c.Batch.HasValue() {
		errs = append(errs, errors.New("merge_profiles merges profiles of one batch: it needs batch"))
	}
	if c.Batch.HasValue() && c.DropRepeated.HasValue() && len(c.DropRepeated.Get().MetadataKeys) > 0 {
		errs = append(errs, errors.New("drop_repeated::metadata_keys cannot differ from those of batch: set the latter only"))
	}
	return errors.Join(append(errs, checkKeys("drop_attributes", c.DropAttributes), checkKeys("group_by_attributes", c.GroupByAttributes))...)
}

func checkKeys(option string, keys []string) error {
	if i := slices.Index(keys, ""); i >= 0 {
		return fmt.Errorf("%s[%d] must not be empty", option, i)
	}
	return nil
}

// options returns the options of the deduplication.
func (c *Config) options() dedup.Options {
	return dedup.Options{
		Shape:              c.SampleShape,
		DropZeroSamples:    c.DropZeroSamples,
		DropAttributes:     c.DropAttributes,
		OnInvalid:          c.OnInvalid,
		DropPartialLinks:   c.LinksWithoutSpan == linksDrop,
		DropEmptyProfiles:  c.DropEmptyProfiles,
		ClearNegativeLines: true,
		NameFunctions:      true,
		WidenTimes:         c.TimestampsOutside == timestampsWiden,
	}
}

// MergeProfilesConfig configures which profiles of a batch are merged.
type MergeProfilesConfig struct {
	// GaugeTypes are sample types that are not merged: their values are a state, so that their sum has no meaning. Each is a
	// type, or type/unit. A * at the end of either matches anything.
	GaugeTypes []string `mapstructure:"gauge_types"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func defaultMergeProfilesConfig() MergeProfilesConfig {
	return MergeProfilesConfig{GaugeTypes: gaugetypes.Default()}
}

// Validate checks the patterns.
func (c *MergeProfilesConfig) Validate() error {
	var errs []error
	for i, pattern := range c.GaugeTypes {
		typ, unit, _ := strings.Cut(pattern, "/")
		if typ == "" || strings.Contains(strings.TrimSuffix(typ, "*"), "*") ||
			strings.Contains(strings.TrimSuffix(unit, "*"), "*") {
			errs = append(errs, fmt.Errorf("gauge_types[%d]: %q must be a type or type/unit, each with at most a * at its end",
				i, pattern))
		}
	}
	return errors.Join(errs...)
}

// delta reports whether values of a type may be added. They may unless the type is a gauge.
func (c *MergeProfilesConfig) delta(typ, unit string) bool {
	return !gaugetypes.Match(c.GaugeTypes, typ, unit)
}

// DropRepeatedConfig configures which profile ids are remembered.
type DropRepeatedConfig struct {
	// TTL is how long an id is remembered after its profile was delivered (default: 10m).
	TTL time.Duration `mapstructure:"ttl"`
	// MaxEntries is how many ids are remembered; the oldest are forgotten first (default: 100000).
	MaxEntries int `mapstructure:"max_entries"`
	// MetadataKeys are keys of the client metadata. Ids count for each combination of their values separately, so that one
	// tenant cannot make the profiles of another disappear (default: none). With batch, its keys are used instead.
	MetadataKeys []string `mapstructure:"metadata_keys"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func defaultDropRepeatedConfig() DropRepeatedConfig {
	return DropRepeatedConfig{TTL: 10 * time.Minute, MaxEntries: 100_000}
}

// Validate checks the limits.
func (c *DropRepeatedConfig) Validate() error {
	return errors.Join(
		configcheck.Positive("ttl", c.TTL),
		configcheck.Positive("max_entries", c.MaxEntries),
		configcheck.MetadataKeys("metadata_keys", c.MetadataKeys),
	)
}

// repeatedKeys returns the metadata keys that keep the ids of tenants apart.
func (c *Config) repeatedKeys() []string {
	if c.Batch.HasValue() {
		return c.Batch.Get().MetadataKeys
	}
	return c.DropRepeated.Get().MetadataKeys
}

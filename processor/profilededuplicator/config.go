// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/internal/dedup"
)

// Config is the configuration of one processor.
type Config struct {
	// SampleShape says what samples look like afterwards (default: combined).
	SampleShape SampleShape `mapstructure:"sample_shape"`
	// DropZeroSamples drops samples whose values are all zero (default: false).
	DropZeroSamples bool `mapstructure:"drop_zero_samples"`
	// DropAttributes are keys of sample attributes to drop, so that samples which differ in nothing else are combined.
	DropAttributes []string `mapstructure:"drop_attributes"`
	// OnInvalid says what becomes of a profile that breaks the format (default: drop_profile).
	OnInvalid OnInvalid `mapstructure:"on_invalid"`
	// LinksWithoutSpan says what becomes of links that name a trace only, or a span only (default: drop).
	LinksWithoutSpan LinksWithoutSpan `mapstructure:"links_without_span"`
	// DropEmptyProfiles drops profiles without samples (default: false).
	DropEmptyProfiles bool `mapstructure:"drop_empty_profiles"`

	// Batch joins messages (default: none, each message goes on by itself).
	Batch configoptional.Optional[BatchConfig] `mapstructure:"batch"`
	// DropRepeated drops profiles whose id was delivered before (default: none are dropped).
	DropRepeated configoptional.Optional[DropRepeatedConfig] `mapstructure:"drop_repeated"`
	// MergeProfiles joins profiles of one batch that differ in time only (default: none are joined).
	MergeProfiles configoptional.Optional[MergeProfilesConfig] `mapstructure:"merge_profiles"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var (
	_ component.Config    = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

// Unmarshal reads the configuration and refuses keys that do not exist.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

func createDefaultConfig() component.Config {
	return &Config{
		SampleShape:      SampleShapeCombined,
		OnInvalid:        OnInvalidDropProfile,
		LinksWithoutSpan: LinksWithoutSpanDrop,
		Batch:            configoptional.Default(defaultBatchConfig()),
		DropRepeated:     configoptional.Default(defaultDropRepeatedConfig()),
		MergeProfiles:    configoptional.Default(defaultMergeProfilesConfig()),
	}
}

// Validate checks what holds between the sections, which check themselves.
func (c *Config) Validate() error {
	errs := []error{configcheck.Durations(c)}
	if c.MergeProfiles.HasValue() && !c.Batch.HasValue() {
		errs = append(errs, errors.New("merge_profiles joins profiles of one batch: it needs batch"))
	}
	if c.Batch.HasValue() && c.DropRepeated.HasValue() && len(c.DropRepeated.Get().MetadataKeys) > 0 {
		errs = append(errs, errors.New("drop_repeated::metadata_keys cannot differ from those of batch: set the latter only"))
	}
	for i, key := range c.DropAttributes {
		if key == "" {
			errs = append(errs, fmt.Errorf("drop_attributes[%d] must not be empty", i))
		}
	}
	return errors.Join(errs...)
}

// options are those of the core.
func (c *Config) options() dedup.Options {
	return dedup.Options{
		Shape:             c.SampleShape.shape(),
		DropZeroSamples:   c.DropZeroSamples,
		DropAttributes:    c.DropAttributes,
		OnInvalid:         c.OnInvalid.action(),
		DropPartialLinks:  c.LinksWithoutSpan == LinksWithoutSpanDrop,
		DropEmptyProfiles: c.DropEmptyProfiles,
	}
}

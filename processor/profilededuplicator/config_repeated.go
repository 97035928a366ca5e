// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"errors"
	"time"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

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
	var errs []error
	errs = append(errs,
		configcheck.Positive("ttl", c.TTL),
		configcheck.Positive("max_entries", c.MaxEntries),
	)
	return errors.Join(append(errs, configcheck.MetadataKeys("metadata_keys", c.MetadataKeys))...)
}

// repeatedKeys returns the metadata keys that keep the ids of tenants apart.
func (c *Config) repeatedKeys() []string {
	if c.Batch.HasValue() {
		return c.Batch.Get().MetadataKeys
	}
	return c.DropRepeated.Get().MetadataKeys
}

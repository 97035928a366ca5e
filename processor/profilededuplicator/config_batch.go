// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// BatchConfig configures the batches.
type BatchConfig struct {
	// WaitForResult makes senders wait until the next consumer has accepted the batch (default: true).
	WaitForResult bool `mapstructure:"wait_for_result"`
	// Timeout is how long the first message of a batch waits for others (default: 200ms).
	Timeout time.Duration `mapstructure:"timeout"`
	// MaxSamples closes a batch, and limits the messages that are passed on (default: 100000). 0 is no limit.
	MaxSamples int `mapstructure:"max_samples"`
	// MaxBytes closes a batch, and limits the messages that are passed on, in bytes of protobuf (default: 4000000). 0 is no
	// limit.
	MaxBytes int `mapstructure:"max_bytes" unit:"bytes"`
	// MaxHeldBytes limits the estimated memory of the messages in all batches (default: 0, a quarter of the memory budget, which is
	// also the maximum).
	MaxHeldBytes int64 `mapstructure:"max_held_bytes" unit:"bytes"`

	// MetadataKeys are keys of the client metadata. Messages are joined only if the values of all of them are equal
	// (default: none).
	MetadataKeys []string `mapstructure:"metadata_keys"`
	// MetadataCardinalityLimit is how many combinations of values may have a batch at a time (default: 1000).
	MetadataCardinalityLimit int `mapstructure:"metadata_cardinality_limit"`

	// RetryConfig configures retries of messages that the next component refuses with a retryable error (default: off with
	// WaitForResult, since the senders retry; else 5m).
	RetryConfig configretry.BackOffConfig `mapstructure:"retry_on_failure"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func defaultBatchConfig() BatchConfig {
	retry := configretry.NewDefaultBackOffConfig()
	retry.InitialInterval = time.Second
	return BatchConfig{
		WaitForResult:            true,
		Timeout:                  200 * time.Millisecond,
		MaxSamples:               100_000,
		MaxBytes:                 4_000_000,
		MetadataCardinalityLimit: 1000,
		RetryConfig:              retry,
	}
}

// Unmarshal disables retries if the senders wait, unless the section configures them: the senders retry themselves.
func (c *BatchConfig) Unmarshal(section *confmap.Conf) error {
	if err := section.Unmarshal(c); err != nil {
		return err
	}
	if c.WaitForResult && !section.IsSet("retry_on_failure") {
		c.RetryConfig.Enabled = false
	}
	return nil
}

// Validate checks the limits.
func (c *BatchConfig) Validate() error {
	var held error
	if c.MaxHeldBytes != 0 && c.MaxHeldBytes < int64(c.MaxBytes) {
		held = fmt.Errorf("max_held_bytes must be 0 or at least %d (max_bytes), is %d", c.MaxBytes, c.MaxHeldBytes)
	}
	return errors.Join(
		configcheck.Positive("timeout", c.Timeout),
		configcheck.NotNegative("max_samples", c.MaxSamples),
		configcheck.NotNegative("max_bytes", c.MaxBytes),
		held,
		configcheck.Positive("metadata_cardinality_limit", c.MetadataCardinalityLimit),
		configcheck.MetadataKeys("metadata_keys", c.MetadataKeys),
	)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/confmap"
)

// BatchConfig says when messages that were joined go on, and how much is held meanwhile.
type BatchConfig struct {
	// WaitForResult answers a message when the batch with it was taken by the next consumer, and not when it is held
	// (default: true).
	WaitForResult bool `mapstructure:"wait_for_result"`
	// Timeout is how long the first message of a batch waits for others (default: 200ms).
	Timeout time.Duration `mapstructure:"timeout"`
	// MaxSamples ends a batch, and is the most that one message has afterwards (default: 100000). 0 is no limit.
	MaxSamples int `mapstructure:"max_samples"`
	// MaxBytes ends a batch, and is about the most that one message has afterwards, in bytes of protobuf (default:
	// 4000000). 0 is no limit.
	MaxBytes int `mapstructure:"max_bytes" unit:"bytes"`
	// MaxHeldBytes is the most memory that the messages in all batches may take, estimated (default: 256 MiB).
	MaxHeldBytes int64 `mapstructure:"max_held_bytes" unit:"bytes"`

	// MetadataKeys are keys of the client's metadata. Messages are joined only if they agree in the values of all of
	// them (default: none).
	MetadataKeys []string `mapstructure:"metadata_keys"`
	// MetadataCardinalityLimit is how many combinations of values may have a batch at a time (default: 1000).
	MetadataCardinalityLimit int `mapstructure:"metadata_cardinality_limit"`

	// RetryConfig says for how long a message that the next component refuses for now is repeated (default: not at all
	// with WaitForResult, since the sender repeats, else 5m).
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
		MaxHeldBytes:             256 << 20,
		MetadataCardinalityLimit: 1000,
		RetryConfig:              retry,
	}
}

// Unmarshal leaves retries to the senders that wait, unless the section asks for them.
func (c *BatchConfig) Unmarshal(section *confmap.Conf) error {
	if err := section.Unmarshal(c); err != nil {
		return err
	}
	if c.WaitForResult && !section.IsSet("retry_on_failure") {
		c.RetryConfig.Enabled = false
	}
	return nil
}

// Validate refuses what could hold messages for ever, or nothing at all.
func (c *BatchConfig) Validate() error {
	var errs []error
	if c.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("timeout must be above 0, is %v", c.Timeout))
	}
	if c.MaxSamples < 0 {
		errs = append(errs, fmt.Errorf("max_samples must not be negative, is %d", c.MaxSamples))
	}
	if c.MaxBytes < 0 {
		errs = append(errs, fmt.Errorf("max_bytes must not be negative, is %d", c.MaxBytes))
	}
	if least := max(1, int64(c.MaxBytes)); c.MaxHeldBytes < least {
		errs = append(errs, fmt.Errorf("max_held_bytes must be at least %d (max_bytes), is %d", least, c.MaxHeldBytes))
	}
	if c.MetadataCardinalityLimit < 1 {
		errs = append(errs, fmt.Errorf("metadata_cardinality_limit must be above 0, is %d", c.MetadataCardinalityLimit))
	}
	return errors.Join(append(errs, validateMetadataKeys(c.MetadataKeys))...)
}

// validateMetadataKeys refuses keys without a name, and those that stand twice: their case does not matter.
func validateMetadataKeys(keys []string) error {
	var errs []error
	seen := map[string]bool{}
	for i, key := range keys {
		lower := strings.ToLower(key)
		switch {
		case key == "":
			errs = append(errs, fmt.Errorf("metadata_keys[%d] must not be empty", i))
		case seen[lower]:
			errs = append(errs, fmt.Errorf("metadata_keys[%d]: %q stands twice (case does not matter)", i, key))
		}
		seen[lower] = true
	}
	return errors.Join(errs...)
}

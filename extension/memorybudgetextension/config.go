// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"errors"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// Config is the configuration of the extension.
type Config struct {
	// LimitMiB limits the memory of all requests together, in MiB. If it is 0, LimitPercentage applies.
	LimitMiB int64 `mapstructure:"limit_mib"`
	// LimitPercentage is the same limit in percent of GOMEMLIMIT, or else of the cgroup's memory limit, or else of the
	// system's memory.
	LimitPercentage int `mapstructure:"limit_percentage"`
	// Wait limits how long a request waits for memory that other requests use.
	Wait time.Duration `mapstructure:"wait"`
	// MaxInflatedMiB limits the decompressed size of a request, in MiB.
	MaxInflatedMiB int `mapstructure:"max_inflated_mib"`
	// ReceiveTimeout limits how long the body of a request may take to arrive.
	ReceiveTimeout time.Duration `mapstructure:"receive_timeout"`

	// prevent unkeyed literal initialization
	_ struct{}
}

const (
	defaultMaxInflatedMiB = 20 // as in confighttp
	defaultReceiveTimeout = 30 * time.Second
	// largestLimitMiB is the largest allowed LimitMiB, a pebibyte.
	largestLimitMiB = 1 << 30
)

var (
	_ confmap.Validator   = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

// Unmarshal reads the configuration. An unknown key is an error.
func (cfg *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, cfg) }

func createDefaultConfig() component.Config {
	return &Config{
		LimitPercentage: memory.DefaultPercentage,
		Wait:            memory.DefaultWait,
		MaxInflatedMiB:  defaultMaxInflatedMiB,
		ReceiveTimeout:  defaultReceiveTimeout,
	}
}

// Validate checks that each number is in its range.
func (cfg *Config) Validate() error {
	return errors.Join(
		configcheck.Durations(cfg),
		configcheck.Between("limit_mib", cfg.LimitMiB, 0, largestLimitMiB),
		configcheck.Between("limit_percentage", cfg.LimitPercentage, 1, 100),
		configcheck.Positive("wait", cfg.Wait),
		configcheck.Between("max_inflated_mib", cfg.MaxInflatedMiB, 1, 1023),
		configcheck.Positive("receive_timeout", cfg.ReceiveTimeout),
	)
}

// limit returns the limit in bytes.
func (cfg *Config) limit() int64 {
	if cfg.LimitMiB > 0 {
		return cfg.LimitMiB << 20
	}
	return memory.PartOfProcess(cfg.LimitPercentage)
}

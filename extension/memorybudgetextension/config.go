// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/configcheck"
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
	// MaxNesting limits the levels of nested lists and maps in an attribute value.
	MaxNesting int `mapstructure:"max_nesting"`
	// MaxInflatedMiB limits the decompressed size of a request, in MiB.
	MaxInflatedMiB int `mapstructure:"max_inflated_mib"`
	// ReceiveTimeout limits how long the body of a request may take to arrive.
	ReceiveTimeout time.Duration `mapstructure:"receive_timeout"`

	// prevent unkeyed literal initialization
	_ struct{}
}

const (
	defaultMaxNesting     = 32
	defaultMaxInflatedMiB = 20 // as in confighttp
	defaultReceiveTimeout = 30 * time.Second
	// arrivingPart: one part in arrivingPart of the limit is for requests that have not arrived completely.
	arrivingPart = 4
	// largestNesting is the largest allowed MaxNesting. Unmarshalling and other components recurse once per level, and this
	// many levels are safe.
	largestNesting = 1000
)

var (
	_ confmap.Validator   = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

// Unmarshal reads the configuration. An unknown key is an error.
func (cfg *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, cfg) }

func createDefaultConfig() component.Config {
	return &Config{
		LimitPercentage: budget.DefaultPercentage,
		Wait:            budget.DefaultWait,
		MaxNesting:      defaultMaxNesting,
		MaxInflatedMiB:  defaultMaxInflatedMiB,
		ReceiveTimeout:  defaultReceiveTimeout,
	}
}

// Validate checks that each number is in its range.
func (cfg *Config) Validate() error {
	errs := []error{configcheck.Durations(cfg)}
	check := func(valid bool, format string, args ...any) {
		if !valid {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(cfg.LimitMiB >= 0 && cfg.LimitMiB < 1<<40, "limit_mib is %d, it must not be negative", cfg.LimitMiB)
	check(cfg.LimitPercentage > 0 && cfg.LimitPercentage <= 100, "limit_percentage is %d, it must be 1 to 100", cfg.LimitPercentage)
	check(cfg.Wait >= 0, "wait is %s, it must not be negative", cfg.Wait)
	check(cfg.MaxNesting > 0 && cfg.MaxNesting <= largestNesting, "max_nesting is %d, it must be 1 to %d", cfg.MaxNesting, largestNesting)
	check(cfg.MaxInflatedMiB > 0 && cfg.MaxInflatedMiB < 1<<10, "max_inflated_mib is %d, it must be 1 to 1023", cfg.MaxInflatedMiB)
	check(cfg.ReceiveTimeout > 0, "receive_timeout is %s, it must be more than 0", cfg.ReceiveTimeout)
	return errors.Join(errs...)
}

// limit returns the limit in bytes.
func (cfg *Config) limit() int64 {
	if cfg.LimitMiB > 0 {
		return cfg.LimitMiB << 20
	}
	return budget.Part(budget.ProcessMemory(), cfg.LimitPercentage)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// defaultCPUDuration is half of the interval: a process has only one CPU profiler, and others can use it for the rest of
// the time.
const defaultCPUDuration = 5 * time.Second

// selfProfiles are the profiles that the Collector can capture of itself.
var selfProfiles = []string{profileCPU, profileHeap, profileAllocs, profileGoroutine, profileMutex, profileBlock}

// SelfConfig configures profiling the Collector itself.
type SelfConfig struct {
	Schedule ScheduleConfig `mapstructure:",squash"`

	// BlockProfileFraction is the rate of runtime.SetBlockProfileRate. With 0 or less the rate is not changed and the profile is not captured.
	BlockProfileFraction int `mapstructure:"block_profile_fraction"`

	// MutexProfileFraction is the rate of runtime.SetMutexProfileFraction. With 0 or less the rate is not changed and the profile is not captured.
	MutexProfileFraction int `mapstructure:"mutex_profile_fraction"`

	// Profiles are the profiles to capture.
	Profiles []string `mapstructure:"profiles"`

	// CPUDuration is how long the CPU profiler runs in each interval.
	CPUDuration time.Duration `mapstructure:"cpu_duration"`

	// Delta determines how differences of cumulative profiles are computed: computed or off.
	Delta string `mapstructure:"delta" words:"computed target off"`

	// Timeout is how long the next component may take. 0 is no limit.
	Timeout time.Duration `mapstructure:"timeout"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var _ confmap.Validator = (*SelfConfig)(nil)

func defaultSelfConfig() SelfConfig {
	return SelfConfig{
		Schedule: defaultSchedule(), BlockProfileFraction: 1, MutexProfileFraction: 1,
		Profiles: slices.Clone(selfProfiles), CPUDuration: defaultCPUDuration, Delta: DeltaComputed,
	}
}

// Validate checks names and times.
func (cfg *SelfConfig) Validate() error {
	var errs []error
	if len(cfg.Profiles) == 0 {
		errs = append(errs, errors.New("profiles must not be empty"))
	}
	for i, name := range cfg.Profiles {
		if slices.Contains(cfg.Profiles[:i], name) {
			errs = append(errs, fmt.Errorf("profiles must have each name once, has %q again", name))
		}
		if !slices.Contains(selfProfiles, name) {
			errs = append(errs, fmt.Errorf("profiles must only have %s, has %q", strings.Join(selfProfiles, ", "), name))
		}
	}
	if slices.Contains(cfg.Profiles, profileCPU) && (cfg.CPUDuration <= 0 || cfg.CPUDuration > cfg.Schedule.CollectionInterval) {
		errs = append(errs, fmt.Errorf("cpu_duration must be above 0 and at most collection_interval, %s, is %s", cfg.Schedule.CollectionInterval, cfg.CPUDuration))
	}
	if cfg.Delta == DeltaTarget {
		errs = append(errs, fmt.Errorf("delta must be %q or %q, is %q", DeltaComputed, DeltaOff, cfg.Delta))
	}
	errs = append(errs, configcheck.NotNegative("timeout", cfg.Timeout))
	return errors.Join(errs...)
}

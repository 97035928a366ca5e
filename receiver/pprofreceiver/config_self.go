// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/collector/confmap"
)

// defaultCPUDuration leaves the CPU profiler to others for half of the time: there is one in a process.
const defaultCPUDuration = 5 * time.Second

// selfProfiles are the profiles that the Collector can make of itself.
var selfProfiles = []string{profileCPU, profileHeap, profileAllocs, profileGoroutine, profileMutex, profileBlock}

// SelfConfig configures profiling the Collector itself.
type SelfConfig struct {
	Schedule ScheduleConfig `mapstructure:",squash"`

	// BlockProfileFraction is the rate of runtime.SetBlockProfileRate. 0 and less leave it alone, and the profile out.
	BlockProfileFraction int `mapstructure:"block_profile_fraction"`

	// MutexProfileFraction is the rate of runtime.SetMutexProfileFraction. 0 and less leave it alone, and the profile out.
	MutexProfileFraction int `mapstructure:"mutex_profile_fraction"`

	// Profiles are those that are made.
	Profiles []string `mapstructure:"profiles"`

	// CPUDuration is how long, of each interval, the CPU profile runs.
	CPUDuration time.Duration `mapstructure:"cpu_duration"`

	// Delta says what becomes of profiles that count from the start of the process: DeltaComputed or DeltaOff.
	Delta DeltaMode `mapstructure:"delta"`

	// Timeout is how long handing a profile on may take. 0 is for ever.
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
	for _, name := range cfg.Profiles {
		if !slices.Contains(selfProfiles, name) {
			errs = append(errs, fmt.Errorf("profiles: unknown %q, known are %q", name, selfProfiles))
		}
	}
	if slices.Contains(cfg.Profiles, profileCPU) && (cfg.CPUDuration <= 0 || cfg.CPUDuration > cfg.Schedule.CollectionInterval) {
		errs = append(errs, fmt.Errorf("cpu_duration must be above 0 and at most collection_interval, %s, is %s", cfg.Schedule.CollectionInterval, cfg.CPUDuration))
	}
	if cfg.Delta == DeltaTarget {
		errs = append(errs, fmt.Errorf("delta must be %q or %q, is %q", DeltaComputed, DeltaOff, cfg.Delta))
	}
	if cfg.Timeout < 0 {
		errs = append(errs, fmt.Errorf("timeout must not be negative, is %s", cfg.Timeout))
	}
	return errors.Join(errs...)
}

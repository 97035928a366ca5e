// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// defaultMaxResponseSize is the same as for requests to the server.
const defaultMaxResponseSize = 20 << 20

// The names of the profiles of Go.
const (
	profileCPU       = "cpu"
	profileHeap      = "heap"
	profileAllocs    = "allocs"
	profileGoroutine = "goroutine"
	profileMutex     = "mutex"
	profileBlock     = "block"
	profileThreads   = "threadcreate"
)

// ScheduleConfig is when something is fetched.
type ScheduleConfig struct {
	// CollectionInterval is the time from one round to the next. A round that takes longer delays the next.
	CollectionInterval time.Duration `mapstructure:"collection_interval"`
	// InitialDelay is the time from the start to the first round.
	InitialDelay time.Duration `mapstructure:"initial_delay"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// insteadOfJitter is what to do instead of an option of earlier versions.
const insteadOfJitter = "remove it: a fetch begins later by a random time of at most 5s and a third of collection_interval"

func defaultSchedule() ScheduleConfig {
	return ScheduleConfig{CollectionInterval: 10 * time.Second, InitialDelay: time.Second}
}

// Validate checks the durations.
func (cfg *ScheduleConfig) Validate() error {
	return errors.Join(
		configcheck.Positive("collection_interval", cfg.CollectionInterval),
		configcheck.NotNegative("initial_delay", cfg.InitialDelay),
	)
}

// The words of delta: how differences are made of profiles that count from the start of a program.
const (
	// DeltaComputed subtracts the profile before.
	DeltaComputed = "computed"
	// DeltaTarget asks the target for a difference over some seconds.
	DeltaTarget = "target"
	// DeltaOff leaves them as they are.
	DeltaOff = "off"
)

// counts reports whether a profile of Go counts from the start of the program.
func counts(name string) bool {
	return name == profileAllocs || name == profileMutex || name == profileBlock
}

// RemoteConfig configures fetching one profile from one URL periodically.
type RemoteConfig struct {
	Schedule ScheduleConfig `mapstructure:",squash"`

	// HTTP has the options of the Collector's HTTP clients. Its endpoint is the URL of the profile.
	HTTP confighttp.ClientConfig `mapstructure:",squash"`

	// MaxResponseSize is the largest answer in bytes.
	MaxResponseSize int64 `mapstructure:"max_response_size" unit:"bytes"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var _ confmap.Validator = (*RemoteConfig)(nil)

func defaultRemoteConfig() RemoteConfig {
	return RemoteConfig{Schedule: defaultSchedule(), HTTP: confighttp.NewDefaultClientConfig(), MaxResponseSize: defaultMaxResponseSize}
}

// Replaced has the option of earlier versions, and what to do instead.
func (*RemoteConfig) Replaced() map[string]string {
	return map[string]string{"jitter": insteadOfJitter}
}

// Validate checks the options that confighttp does not check.
func (cfg *RemoteConfig) Validate() error {
	return errors.Join(configcheck.URL("endpoint", cfg.HTTP.Endpoint), configcheck.Bytes("max_response_size", cfg.MaxResponseSize))
}

// FileConfig configures reading files.
type FileConfig struct {
	Schedule ScheduleConfig `mapstructure:",squash"`

	// Include is a pattern for the paths of files: *, ?, [abc], {a,b}, and ** for any number of directories.
	Include string `mapstructure:"include"`

	// Timeout is how long a round may take. 0 is no limit.
	Timeout time.Duration `mapstructure:"timeout"`

	// Settle is how long a file must not have changed before it is read.
	Settle time.Duration `mapstructure:"settle"`

	// DeleteAfterRead deletes files that the next component has accepted.
	DeleteAfterRead bool `mapstructure:"delete_after_read"`

	// MoveTo is a directory for files that the next component has accepted.
	MoveTo string `mapstructure:"move_to"`

	// IncludeFilePath sets the resource attribute file.path.
	IncludeFilePath bool `mapstructure:"include_file_path"`

	// LegacyFormats accepts the formats, older than profile.proto, that google/pprof reads.
	LegacyFormats bool `mapstructure:"legacy_formats"`

	// Storage is an extension that stores which files were read, so that a restart does not read them again.
	Storage *component.ID `mapstructure:"storage"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var _ confmap.Validator = (*FileConfig)(nil)

func defaultFileConfig() FileConfig {
	// Most writers pause for less than Settle between two writes. A file that changes after it was read is read again.
	return FileConfig{Schedule: defaultSchedule(), Settle: 2 * time.Second, LegacyFormats: true}
}

// Validate checks the options.
func (cfg *FileConfig) Validate() error {
	var errs []error
	if cfg.Include == "" {
		errs = append(errs, errors.New("include must be specified"))
	} else if !doublestar.ValidatePathPattern(cfg.Include) {
		errs = append(errs, fmt.Errorf("include is not a pattern: %q", cfg.Include))
	}
	errs = append(errs,
		configcheck.NotNegative("settle", cfg.Settle),
		configcheck.NotNegative("timeout", cfg.Timeout),
	)
	if cfg.DeleteAfterRead && cfg.MoveTo != "" {
		errs = append(errs, errors.New("delete_after_read and move_to exclude each other"))
	}
	return errors.Join(errs...)
}

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
		Profiles: slices.Clone(selfProfiles), Delta: DeltaComputed,
		CPUDuration: 5 * time.Second, // A process has only one CPU profiler, and others can use it for the rest of the interval.
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

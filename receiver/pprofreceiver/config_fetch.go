// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"time"

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

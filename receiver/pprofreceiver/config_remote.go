// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/payloadconfig"
)

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
	cfg := RemoteConfig{Schedule: defaultSchedule(), HTTP: confighttp.NewDefaultClientConfig(), MaxResponseSize: defaultMaxResponseSize}
	cfg.Schedule.Jitter = time.Second
	return cfg
}

// Validate checks the options that confighttp does not check.
func (cfg *RemoteConfig) Validate() error {
	return errors.Join(validateURL(cfg.HTTP.Endpoint), payloadconfig.CheckBytes("max_response_size", cfg.MaxResponseSize))
}

func validateURL(text string) error {
	if text == "" {
		return errors.New("endpoint must be specified")
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return fmt.Errorf("endpoint must be a URL that begins with http:// or https://, is %q", text)
	}
	return nil
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofileconnector

import (
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/internal/splunkrecords"
)

// Config is the configuration of the connector. All its options belong to the translation.
type Config struct {
	splunkrecords.Config `mapstructure:",squash"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Validator   = (*Config)(nil)
)

// Unmarshal reads the configuration. An unknown option is an error.
func (cfg *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, cfg) }

// Validate checks the configuration.
func (cfg *Config) Validate() error { return cfg.Check() }

func createDefaultConfig() component.Config { return &Config{Config: splunkrecords.NewDefaultConfig()} }

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofileconnector

import (
	"go.opentelemetry.io/collector/component"

	"github.com/otelpprof/otelpprof/internal/splunkrecords"
)

// Config is the configuration of the connector: that of the translation.
type Config struct {
	splunkrecords.Config `mapstructure:",squash"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func createDefaultConfig() component.Config { return &Config{Config: splunkrecords.NewDefaultConfig()} }

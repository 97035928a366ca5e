// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"errors"
	"fmt"
	"strings"

	"github.com/otelpprof/otelpprof/internal/gaugetypes"
)

// MergeProfilesConfig configures which profiles of a batch are merged.
type MergeProfilesConfig struct {
	// GaugeTypes are sample types that are not merged: their values are a state, so that their sum has no meaning. Each is a
	// type, or type/unit. A * at the end of either matches anything.
	GaugeTypes []string `mapstructure:"gauge_types"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func defaultMergeProfilesConfig() MergeProfilesConfig {
	return MergeProfilesConfig{GaugeTypes: gaugetypes.Default()}
}

// Validate checks the patterns.
func (c *MergeProfilesConfig) Validate() error {
	var errs []error
	for i, pattern := range c.GaugeTypes {
		typ, unit, _ := strings.Cut(pattern, "/")
		if typ == "" || strings.Contains(strings.TrimSuffix(typ, "*"), "*") ||
			strings.Contains(strings.TrimSuffix(unit, "*"), "*") {
			errs = append(errs, fmt.Errorf("gauge_types[%d]: %q must be a type or type/unit, each with at most a * at its end",
				i, pattern))
		}
	}
	return errors.Join(errs...)
}

// delta reports whether values of a type may be added. They may unless the type is a gauge.
func (c *MergeProfilesConfig) delta(typ, unit string) bool {
	return !gaugetypes.Match(c.GaugeTypes, typ, unit)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// defaultSettle is longer than most writers pause between two writes. A file that changes after it was read is read
// again.
const defaultSettle = 2 * time.Second

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
	return FileConfig{Schedule: defaultSchedule(), Settle: defaultSettle, LegacyFormats: true}
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

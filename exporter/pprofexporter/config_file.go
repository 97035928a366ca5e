// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/otelpprof/otelpprof/internal/configcheck"

	"github.com/otelpprof/otelpprof/exporter/internal/pathname"
)

// FileConfig configures the destination file, which writes each pprof to a file.
type FileConfig struct {
	// Directory is the directory for the files (required). The exporter creates it if it does not exist.
	Directory string `mapstructure:"directory"`
	// Path is the template of the file paths, relative to the directory
	// (default: {service.name}/{profile.type}/{time}-{profile.id}.pb.gz).
	Path string `mapstructure:"path"`
	// Time chooses the time in the path of a profile that has no time (default: arrival).
	Time string `mapstructure:"time" words:"arrival keep"`
	// CompressionLevel is the level of gzip, from 1 (fastest) to 9 (smallest) (default: 1).
	CompressionLevel int `mapstructure:"compression_level"`
	// MaxAge is how long the exporter keeps a file after it was written (default: 0, forever).
	MaxAge time.Duration `mapstructure:"max_age"`
	// MaxTotalSize is the maximum size of all files and their directories on the disk in bytes (default: 0, no limit).
	MaxTotalSize int64 `mapstructure:"max_total_size" unit:"bytes"`
	// MaxFiles is the maximum number of files (default: 0, no limit).
	MaxFiles int64 `mapstructure:"max_files"`
	// FileMode has the permissions of new files in octal, before the umask of the process (default: "0640").
	FileMode string `mapstructure:"file_mode"`
	// DirectoryMode has the permissions of new directories in octal, before the umask of the process (default: "0750").
	DirectoryMode string `mapstructure:"directory_mode"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// The words of time: the time in the path of a profile that has no time.
const (
	// TimeArrival is the time at which the exporter received the profile.
	TimeArrival = "arrival"
	// TimeKeep is the zero time, the start of 1970.
	TimeKeep = "keep"
)

func newDefaultFileConfig() FileConfig {
	return FileConfig{
		Path:             "{service.name}/{profile.type}/{time}-{profile.id}" + pathname.Suffix,
		Time:             TimeArrival,
		CompressionLevel: 1,
		FileMode:         "0640",
		DirectoryMode:    "0750",
	}
}

// Validate returns all errors in the section.
func (c *FileConfig) Validate() error {
	var errs []error
	if c.Directory == "" {
		errs = append(errs, errors.New("directory must be set"))
	}
	if _, err := pathname.Parse(c.Path); err != nil {
		errs = append(errs, fmt.Errorf("path %q: %w", c.Path, err))
	}
	errs = append(errs,
		configcheck.Between("compression_level", c.CompressionLevel, 1, 9),
		configcheck.NotNegative("max_age", c.MaxAge),
		configcheck.NotNegative("max_total_size", c.MaxTotalSize),
		configcheck.NotNegative("max_files", c.MaxFiles),
	)
	// The exporter must be able to read its own files, and to write to its own directories.
	if _, err := parseMode(c.FileMode, 0o400); err != nil {
		errs = append(errs, fmt.Errorf("file_mode %w", err))
	}
	if _, err := parseMode(c.DirectoryMode, 0o700); err != nil {
		errs = append(errs, fmt.Errorf("directory_mode %w", err))
	}
	return errors.Join(errs...)
}

// parseMode reads permissions in octal. It returns an error if they lack one of the permissions in needed.
func parseMode(text string, needed fs.FileMode) (fs.FileMode, error) {
	bits, err := strconv.ParseUint(text, 8, 32)
	mode := fs.FileMode(bits)
	switch {
	case err != nil || mode&^fs.ModePerm != 0:
		return 0, fmt.Errorf(`must be an octal number from "0000" to "0777", not %q`, text)
	case mode&needed != needed:
		return 0, fmt.Errorf("must have %#o for the owner, it is %q", needed, text)
	}
	return mode, nil
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/otelpprof/otelpprof/internal/configcheck"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/pathname"
)

// FileConfig is the destination that keeps each pprof as a file.
type FileConfig struct {
	// Directory is where the files are (required). It is made if it is not there.
	Directory string `mapstructure:"directory"`
	// Path names the files, relative to the directory
	// (default: {service.name}/{profile.type}/{time}-{profile.id}.pb.gz).
	Path string `mapstructure:"path"`
	// Time says which time a profile without one has in its path (default: arrival).
	Time FileTime `mapstructure:"time"`
	// CompressionLevel is that of gzip, from 1, the fastest, to 9, the smallest (default: 6).
	CompressionLevel int `mapstructure:"compression_level"`
	// MaxAge is how long a file is kept after it was written (default: 0, for ever).
	MaxAge time.Duration `mapstructure:"max_age"`
	// MaxTotalSize is how many bytes of files are kept (default: 0, all).
	MaxTotalSize int64 `mapstructure:"max_total_size" unit:"bytes"`
	// FileMode is that of new files, octal (default: "0640"). The process's umask is taken off.
	FileMode string `mapstructure:"file_mode"`
	// DirectoryMode is that of new directories, octal (default: "0750"). The process's umask is taken off.
	DirectoryMode string `mapstructure:"directory_mode"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// FileTime says which time a profile without one has in its path.
type FileTime string

const (
	// TimeArrival is when the profile came to the exporter.
	TimeArrival FileTime = "arrival"
	// TimeKeep is the begin of 1970.
	TimeKeep FileTime = "keep"
)

// UnmarshalText takes arrival and keep.
func (t *FileTime) UnmarshalText(text []byte) error {
	return configcheck.Word(t, text, "time", TimeArrival, TimeKeep)
}

func newDefaultFileConfig() FileConfig {
	return FileConfig{
		Path:             "{service.name}/{profile.type}/{time}-{profile.id}" + pathname.Suffix,
		Time:             TimeArrival,
		CompressionLevel: 6,
		FileMode:         "0640",
		DirectoryMode:    "0750",
	}
}

// Validate tells all that is wrong.
func (c *FileConfig) Validate() error {
	var errs []error
	if c.Directory == "" {
		errs = append(errs, errors.New("directory must be set"))
	}
	if _, err := pathname.Parse(c.Path); err != nil {
		errs = append(errs, fmt.Errorf("path %q: %w", c.Path, err))
	}
	if c.CompressionLevel < 1 || c.CompressionLevel > 9 {
		errs = append(errs, fmt.Errorf("compression_level must be from 1 to 9, not %d", c.CompressionLevel))
	}
	if c.MaxAge < 0 {
		errs = append(errs, fmt.Errorf("max_age must not be negative, it is %v", c.MaxAge))
	}
	if c.MaxTotalSize < 0 {
		errs = append(errs, fmt.Errorf("max_total_size must not be negative, it is %d", c.MaxTotalSize))
	}
	// Without these the exporter could not read its own files, or write into its own directories.
	if _, err := parseMode(c.FileMode, 0o400); err != nil {
		errs = append(errs, fmt.Errorf("file_mode %w", err))
	}
	if _, err := parseMode(c.DirectoryMode, 0o700); err != nil {
		errs = append(errs, fmt.Errorf("directory_mode %w", err))
	}
	return errors.Join(errs...)
}

// parseMode reads permissions as chmod takes them. Those in needed must be among them.
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

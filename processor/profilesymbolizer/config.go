// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer"

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// Config is the configuration of one processor.
type Config struct {
	// Directories have binaries and debug information: by build id, or by the path that the process had (default: none).
	Directories []string `mapstructure:"directories"`
	// Debuginfod are servers to ask for debug information, one after the other (default: none).
	Debuginfod []DebuginfodConfig `mapstructure:"debuginfod"`
	// Uploads is a server for the binaries that agents of Parca and Pyroscope upload (default: none).
	Uploads configoptional.Optional[UploadsConfig] `mapstructure:"uploads"`
	// Cache is where the indices of binaries are.
	Cache CacheConfig `mapstructure:"cache"`
	// MaxWait is how long a message waits for binaries that are not known yet (default: 0s, it goes on without their names).
	MaxWait time.Duration `mapstructure:"max_wait"`
	// ReplaceLines also names locations that have lines already (default: false).
	ReplaceLines bool `mapstructure:"replace_lines"`
	// MissingFor is how long a binary that no source has, or whose file is unusable, is not looked for again (default: 1h).
	MissingFor time.Duration `mapstructure:"missing_for"`
	// FailedFor is the same for a binary whose source failed, or for whose index there was no memory (default: 1m).
	FailedFor time.Duration `mapstructure:"failed_for"`
	// ConcurrentFetches is how many binaries are fetched and indexed at a time (default: 2).
	ConcurrentFetches int `mapstructure:"concurrent_fetches"`
	// FetchTimeout is the longest time to fetch and index a binary from one source (default: 5m).
	FetchTimeout time.Duration `mapstructure:"fetch_timeout"`
	// IndexTimeout is the longest time to make the index of one file (default: 1m).
	IndexTimeout time.Duration `mapstructure:"index_timeout"`
	// MaxFileSize is the largest file that is read or downloaded, in bytes (default: 1073741824).
	MaxFileSize int64 `mapstructure:"max_file_size" unit:"bytes"`
	// MaxIndexMemory is the most memory to make the index of one file, in bytes (default: 268435456). The memory budget counts it too.
	MaxIndexMemory int64 `mapstructure:"max_index_memory" unit:"bytes"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// CacheConfig configures the cache of indices.
type CacheConfig struct {
	// Directory has the indices. Replicas can share it (default: a new temporary directory, which is removed at the end).
	Directory string `mapstructure:"directory"`
	// MaxSize is the size of all indices, in bytes. Those that were used the longest ago are removed (default: 1073741824).
	MaxSize int64 `mapstructure:"max_size" unit:"bytes"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// UploadsConfig configures the server for uploads. It has the options of the Collector's HTTP servers.
type UploadsConfig struct {
	HTTP confighttp.ServerConfig `mapstructure:",squash"`
	// MaxSize is the size of all uploaded files, in bytes. Those that were used the longest ago are removed (default: 4294967296).
	MaxSize int64 `mapstructure:"max_size" unit:"bytes"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// DebuginfodConfig configures one server. It has the options of the Collector's HTTP clients; the endpoint is the URL of the server.
type DebuginfodConfig struct {
	HTTP confighttp.ClientConfig `mapstructure:",squash"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var (
	_ component.Config    = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Unmarshaler = (*DebuginfodConfig)(nil)
)

// Unmarshal reads the configuration. An unknown key is an error.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

// Unmarshal reads the configuration of a server over its defaults.
func (c *DebuginfodConfig) Unmarshal(conf *confmap.Conf) error {
	c.HTTP = confighttp.NewDefaultClientConfig()
	return configcheck.Unmarshal(conf, c)
}

func createDefaultConfig() component.Config {
	return &Config{
		Uploads:           configoptional.Default(createDefaultUploads()),
		Cache:             CacheConfig{MaxSize: 1 << 30},
		MissingFor:        time.Hour,
		FailedFor:         time.Minute,
		ConcurrentFetches: 2,
		FetchTimeout:      5 * time.Minute,
		IndexTimeout:      time.Minute,
		MaxFileSize:       1 << 30,
		MaxIndexMemory:    256 << 20,
	}
}

func createDefaultUploads() UploadsConfig {
	http := confighttp.NewDefaultServerConfig()
	http.NetAddr.Endpoint = "localhost:7070"
	http.ReadTimeout = 5 * time.Minute
	http.ReadHeaderTimeout = 10 * time.Second
	http.WriteTimeout = 6 * time.Minute // It includes the time to read.
	return UploadsConfig{HTTP: http, MaxSize: 4 << 30}
}

const (
	maxFetches  = 64
	maxWait     = time.Minute
	leastMemory = 1 << 20
)

// Validate checks the options.
func (c *Config) Validate() error {
	errs := []error{configcheck.Durations(c)}
	if len(c.Directories) == 0 && len(c.Debuginfod) == 0 && c.Cache.Directory == "" && !c.Uploads.HasValue() {
		errs = append(errs, errors.New("there is no source: set directories, debuginfod, uploads or cache::directory"))
	}
	for i, directory := range c.Directories {
		if !filepath.IsAbs(directory) {
			errs = append(errs, fmt.Errorf("directories[%d] must be an absolute path, is %q", i, directory))
		}
	}
	if uploads := c.Uploads.Get(); uploads != nil {
		if err := configcheck.ListenAddress(uploads.HTTP.NetAddr); err != nil {
			errs = append(errs, fmt.Errorf("uploads::%w", err))
		}
		errs = append(errs, configcheck.Positive("uploads::read_timeout", uploads.HTTP.ReadTimeout),
			atLeast("uploads::max_size, which is for several files,", uploads.MaxSize, c.MaxFileSize))
	}
	for i := range c.Debuginfod {
		errs = append(errs, configcheck.URL(fmt.Sprintf("debuginfod[%d]::endpoint", i), c.Debuginfod[i].HTTP.Endpoint))
	}
	return errors.Join(append(errs,
		configcheck.Between("max_wait", c.MaxWait, 0, maxWait),
		configcheck.Positive("missing_for", c.MissingFor),
		configcheck.Positive("failed_for", c.FailedFor),
		configcheck.Between("concurrent_fetches", c.ConcurrentFetches, 1, maxFetches),
		configcheck.Positive("fetch_timeout", c.FetchTimeout),
		configcheck.Positive("index_timeout", c.IndexTimeout),
		configcheck.Positive("max_file_size", c.MaxFileSize),
		configcheck.Positive("cache::max_size", c.Cache.MaxSize),
		atLeast("max_index_memory", c.MaxIndexMemory, leastMemory),
	)...)
}

func atLeast(option string, value, least int64) error {
	if value >= least {
		return nil
	}
	return fmt.Errorf("%s must be at least %d, is %d", option, least, value)
}

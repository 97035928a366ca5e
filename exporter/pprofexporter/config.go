// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// Config is the configuration of one exporter: its destination, the encoding, the queue and the retries.
type Config struct {
	// TimeoutConfig limits the time of one attempt. A retry sends only the profiles that were not delivered.
	TimeoutConfig exporterhelper.TimeoutConfig `mapstructure:",squash"`
	QueueConfig   options.Queue                `mapstructure:"sending_queue"`
	RetryConfig   configretry.BackOffConfig    `mapstructure:"retry_on_failure"`

	// File writes each pprof as a file in a directory.
	File configoptional.Optional[FileConfig] `mapstructure:"file"`
	// HTTP sends each pprof to a backend.
	HTTP configoptional.Optional[HTTPConfig] `mapstructure:"http"`

	// Encoding configures how profiles become pprofs.
	Encoding options.EncodingConfig `mapstructure:",squash"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var _ confmap.Unmarshaler = (*Config)(nil)

// Unmarshal reads the configuration. It refuses unknown keys.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	if conf.IsSet("server") {
		return serverMoved(conf)
	}
	return configcheck.Unmarshal(conf, c)
}

// serverMoved returns an error that explains how to replace the section server of an earlier version of this exporter.
func serverMoved(conf *confmap.Conf) error {
	endpoint, given := conf.Get("server::endpoint").(string)
	if !given {
		endpoint = "localhost:4041"
	}
	return fmt.Errorf("server is not an option, the exporter profile_view shows profiles: write profile_view: {endpoint: %q} under exporters, with all other options of server beside endpoint, and profile_view in the pipeline", endpoint)
}

// Validate returns the errors of all options except those of the destinations, which have their own Validate.
func (c *Config) Validate() error {
	var err error
	switch file, http := c.File.HasValue(), c.HTTP.HasValue(); {
	case !file && !http:
		err = errors.New("no destination: set file or http")
	case file && http:
		err = errors.New("an exporter has one destination, but this one has file and http: write one exporter for each, such as pprof/file and pprof/http")
	}
	return errors.Join(err, options.ValidateQueue(c.QueueConfig), configcheck.Durations(c))
}

// destination writes or sends profiles. An exporter has exactly one destination, so that a retry never reaches a second one that
// had succeeded. [delivery.Settings] describes the methods.
type destination interface {
	start(ctx context.Context, host component.Host) error
	shutdown(ctx context.Context) error
	consume(ctx context.Context, pd pprofile.Profiles) error
}

// newDestination returns the destination whose section is in the configuration.
func newDestination(set exporter.Settings, cfg *Config, telemetry *telemetry) (destination, error) {
	if cfg.HTTP.HasValue() {
		return newHTTPDestination(set, cfg, telemetry)
	}
	return newFileDestination(set, cfg, telemetry)
}

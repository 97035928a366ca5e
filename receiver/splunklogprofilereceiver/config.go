// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/internal/splunkrecords"
)

// Config is the configuration of the receiver.
type Config struct {
	// Protocols are the protocols of the OTLP receiver. By default, gRPC and HTTP are on.
	Protocols otlpreceiver.Protocols `mapstructure:"protocols"`

	// OtherLogs determines what happens to other log records if the receiver is in no logs pipeline.
	OtherLogs string `mapstructure:"other_logs" words:"drop reject"`

	splunkrecords.Config `mapstructure:",squash"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// The words of other_logs: what happens to log records that are no profiling records.
const (
	// OtherLogsDrop drops and counts the records.
	OtherLogsDrop = "drop"
	// OtherLogsReject drops and counts the records, and rejects a request that has no profiling record.
	OtherLogsReject = "reject"
)

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Validator   = (*Config)(nil)
)

// defaultProtocols returns the settings of gRPC and HTTP. Both are off until the configuration names them.
func defaultProtocols() otlpreceiver.Protocols {
	protocols := otlpreceiver.NewFactory().CreateDefaultConfig().(*otlpreceiver.Config).Protocols
	grpc := *protocols.GRPC.GetOrInsertDefault()
	grpc.MaxRecvMsgSizeMiB = 20 // As for HTTP. The default, 4 MiB, is less than a Java agent can send.
	protocols.GRPC = configoptional.Default(grpc)
	return protocols
}

// createDefaultConfig turns both protocols on, so that agents with default settings can connect.
func createDefaultConfig() component.Config {
	protocols := defaultProtocols()
	protocols.GRPC.GetOrInsertDefault()
	protocols.HTTP.GetOrInsertDefault()
	return &Config{
		Protocols: protocols,
		OtherLogs: OtherLogsDrop,
		Config:    splunkrecords.NewDefaultConfig(),
	}
}

// Unmarshal turns off the protocols that the section protocols does not name, if the section exists.
func (cfg *Config) Unmarshal(conf *confmap.Conf) error {
	if conf.IsSet("protocols") {
		cfg.Protocols = defaultProtocols()
	}
	return configcheck.Unmarshal(conf, cfg)
}

// Validate checks the options outside of the sections, and combinations of options.
func (cfg *Config) Validate() error {
	return errors.Join(cfg.validateAddresses(), configcheck.Durations(cfg), cfg.Check())
}

// validateAddresses checks the endpoints of the protocols.
func (cfg *Config) validateAddresses() error {
	var errs []error
	grpc, http := cfg.Protocols.GRPC.Get(), cfg.Protocols.HTTP.Get()
	if grpc != nil {
		if err := configcheck.ListenAddress(grpc.NetAddr); err != nil {
			errs = append(errs, fmt.Errorf("protocols::grpc: %w", err))
		}
	}
	if http != nil {
		if err := configcheck.ListenAddress(http.ServerConfig.NetAddr); err != nil {
			errs = append(errs, fmt.Errorf("protocols::http: %w", err))
		}
	}
	if grpc != nil && http != nil && configcheck.Collide(grpc.NetAddr, http.ServerConfig.NetAddr) {
		errs = append(errs, fmt.Errorf("protocols: grpc listens on %q and http on %q, they need different ports",
			grpc.NetAddr.Endpoint, http.ServerConfig.NetAddr.Endpoint))
	}
	return errors.Join(errs...)
}

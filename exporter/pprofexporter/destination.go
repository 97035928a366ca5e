// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// destination is where profiles go. An exporter has one of them, so that what is repeated after a failure is repeated
// for the destination that failed and no other. The methods are those of [delivery.Settings].
type destination interface {
	start(ctx context.Context, host component.Host) error
	shutdown(ctx context.Context) error
	consume(ctx context.Context, pd pprofile.Profiles) error
}

// newDestination makes the destination that the configuration has a section for.
func newDestination(set exporter.Settings, cfg *Config, telemetry *telemetry) (destination, error) {
	if cfg.HTTP.HasValue() {
		return newHTTPDestination(set, cfg, telemetry)
	}
	return newFileDestination(set, cfg, telemetry)
}

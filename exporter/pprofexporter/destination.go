// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

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

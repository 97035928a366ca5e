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
// for the destination that failed and no other.
type destination interface {
	start(ctx context.Context, host component.Host) error
	// shutdown is called once, also where start was not.
	shutdown(ctx context.Context) error
	// consume takes one request, concurrently with others. It only reads pd. An error that is not permanent makes the
	// request come again; deliver makes errors that leave out what was done.
	consume(ctx context.Context, pd pprofile.Profiles) error
}

// newDestination makes the destination that the configuration has a section for.
func newDestination(set exporter.Settings, cfg *Config, telemetry *telemetry) (destination, error) {
	switch {
	case cfg.HTTP.HasValue():
		return newHTTPDestination(set, cfg, telemetry)
	case cfg.Server.HasValue():
		return newServerDestination(set, cfg, telemetry), nil
	default:
		return newFileDestination(set, cfg, telemetry)
	}
}

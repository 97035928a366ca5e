// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/xexporter"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/metadata"
)

// NewFactory returns the factory of the profile view exporter.
func NewFactory() xexporter.Factory {
	return xexporter.NewFactory(
		metadata.Type,
		createDefaultConfig,
		xexporter.WithProfiles(createProfiles, metadata.ProfilesStability),
	)
}

func createProfiles(ctx context.Context, set exporter.Settings, config component.Config) (xexporter.Profiles, error) {
	cfg := config.(*Config)
	telemetry, err := newTelemetry(set)
	if err != nil {
		return nil, err
	}
	v := newViewExporter(set, cfg, telemetry)
	return delivery.NewExporter(ctx, set, delivery.Settings{
		Timeout:   exporterhelper.NewDefaultTimeoutConfig(), // Adding profiles to the store is not interrupted.
		Queue:     cfg.QueueConfig,
		Retry:     cfg.RetryConfig,
		Telemetry: telemetry.Telemetry,
		Start:     v.start,
		Shutdown:  v.shutdown,
		Consume:   v.consume,
		DrainTime: cfg.drainTime(),
	})
}

// drainTime returns how long a shutdown empties the queue. Without a directory, the profiles would be lost at exit anyway.
func (c *Config) drainTime() time.Duration {
	if c.Directory == "" {
		return 0
	}
	return time.Second
}

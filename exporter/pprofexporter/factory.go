// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/xexporter"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/metadata"
)

// drainTime limits how long a shutdown delivers what is in a queue in memory.
const drainTime = 5 * time.Second

// NewFactory returns the factory of the pprof exporter.
func NewFactory() xexporter.Factory {
	return xexporter.NewFactory(
		metadata.Type,
		createDefaultConfig,
		xexporter.WithProfiles(createProfiles, metadata.ProfilesStability),
	)
}

func createDefaultConfig() component.Config {
	return &Config{
		TimeoutConfig: exporterhelper.NewDefaultTimeoutConfig(),
		QueueConfig:   options.NewDefaultQueue(),
		RetryConfig:   configretry.NewDefaultBackOffConfig(),
		File:          configoptional.Default(newDefaultFileConfig()),
		HTTP:          configoptional.Default(newDefaultHTTPConfig()),
		Encoding:      options.NewDefaultEncodingConfig(),
	}
}

func createProfiles(ctx context.Context, set exporter.Settings, config component.Config) (xexporter.Profiles, error) {
	cfg := config.(*Config)
	telemetry, err := newTelemetry(set)
	if err != nil {
		return nil, err
	}
	d, err := newDestination(set, cfg, telemetry)
	if err != nil {
		return nil, err
	}
	e, err := delivery.NewExporter(ctx, set, delivery.Settings{
		Timeout:   cfg.TimeoutConfig,
		Queue:     cfg.QueueConfig,
		Retry:     cfg.RetryConfig,
		Telemetry: telemetry.Telemetry,
		Start:     d.start,
		Shutdown:  d.shutdown,
		Consume:   d.consume,
		Local:     cfg.File.HasValue(),
		DrainTime: drainTime,
	})
	if err != nil {
		return nil, err
	}
	if file := cfg.File.Get(); file != nil && file.Time == TimeArrival {
		return &arrivalTimes{Exporter: e, now: time.Now}, nil
	}
	return e, nil
}

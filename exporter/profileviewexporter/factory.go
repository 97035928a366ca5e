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
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
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
		Local:     true,
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

// telemetry counts the events of the exporter. documentation.md describes the metrics.
type telemetry struct {
	*delivery.Telemetry
	builder *metadata.TelemetryBuilder
}

func newTelemetry(set exporter.Settings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &telemetry{builder: builder, Telemetry: delivery.NewTelemetry(set, delivery.Counters{
		ProfilesWritten: builder.ExporterProfileViewProfilesWritten,
		SamplesWritten:  builder.ExporterProfileViewSamplesWritten,
		PartsLost:       builder.ExporterProfileViewPartsLost,
		ProfilesRefused: builder.ExporterProfileViewProfilesRefused,
	})}, nil
}

func (t *telemetry) evicted(reason store.Reason) {
	t.builder.ExporterProfileViewProfilesEvicted.Add(context.Background(), 1, t.Because(string(reason)))
}

func (t *telemetry) storageFailed(ctx context.Context, operation string) {
	t.builder.ExporterProfileViewStorageFailures.Add(ctx, 1, t.With(attribute.String("operation", operation)))
}

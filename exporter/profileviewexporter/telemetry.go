// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"

	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
)

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

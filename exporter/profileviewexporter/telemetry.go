// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"context"

	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// telemetry counts what the exporter does. Its metrics are described in documentation.md.
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

func (t *telemetry) connectionClosed() {
	t.builder.ExporterProfileViewClosedConnections.Add(context.Background(), 1, t.Plain)
}

func (t *telemetry) evicted(reason recent.Reason) {
	t.builder.ExporterProfileViewProfilesEvicted.Add(context.Background(), 1, t.Because(string(reason)))
}

// holds reports what is held in memory, whenever metrics are read.
func (t *telemetry) holds(store *recent.Store) error {
	err := t.builder.RegisterExporterProfileViewServedProfilesCallback(func(_ context.Context, o metric.Int64Observer) error {
		profiles, _ := store.Held()
		o.Observe(profiles, t.Plain)
		return nil
	})
	if err != nil {
		return err
	}
	return t.builder.RegisterExporterProfileViewServedBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
		_, memory := store.Held()
		o.Observe(memory, t.Plain)
		return nil
	})
}

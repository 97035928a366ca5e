// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"context"

	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/persist"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
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

func (t *telemetry) connectionClosed() {
	t.builder.ExporterProfileViewClosedConnections.Add(context.Background(), 1, t.Plain)
}

func (t *telemetry) evicted(reason recent.Reason) {
	t.builder.ExporterProfileViewProfilesEvicted.Add(context.Background(), 1, t.Because(string(reason)))
}

// observeStore reports the size of the store when metrics are read.
func (t *telemetry) observeStore(store *recent.Store) error {
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

func (t *telemetry) storageDropped(reason persist.Reason) {
	t.builder.ExporterProfileViewStorageDropped.Add(context.Background(), 1, t.Because(string(reason)))
}

func (t *telemetry) storageFailed(operation persist.Operation) {
	t.builder.ExporterProfileViewStorageFailures.Add(context.Background(), 1, t.With(attribute.String("operation", string(operation))))
}

func (t *telemetry) restored(profiles int) {
	t.builder.ExporterProfileViewProfilesRestored.Add(context.Background(), int64(profiles), t.Plain)
}

// observeStorage reports the size of the storage when metrics are read.
func (t *telemetry) observeStorage(persister *persist.Persister) error {
	for _, register := range []struct {
		callback func(metric.Int64Callback) error
		value    func(entries, bytes, pending int64) int64
	}{
		{t.builder.RegisterExporterProfileViewStoredProfilesCallback, func(entries, _, _ int64) int64 { return entries }},
		{t.builder.RegisterExporterProfileViewStoredBytesCallback, func(_, bytes, _ int64) int64 { return bytes }},
		{t.builder.RegisterExporterProfileViewStoragePendingCallback, func(_, _, pending int64) int64 { return pending }},
	} {
		err := register.callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(register.value(persister.Stored()), t.Plain)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

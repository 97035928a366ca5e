// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"context"

	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/filestore"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/droplog"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The values of the attribute reason of refused profiles and of failed writes, as in metadata.yaml.
const (
	refusedInvalid = "invalid"
	refusedBlocked = "blocked"
	// refusedRejected is for what the destination does not take.
	refusedRejected = "rejected"
	refusedTooLarge = "too_large"

	failedFull   = "full"
	failedDenied = "denied"
	failedOther  = "other"
)

// telemetry counts what the exporter does. Its metrics are described in documentation.md.
type telemetry struct {
	builder  *metadata.TelemetryBuilder
	drops    *droplog.Log
	exporter attribute.KeyValue
	plain    metric.MeasurementOption
	// lostAttributes and lostTimestamps have the attribute kind of parts that are left out.
	lostAttributes, lostTimestamps metric.MeasurementOption
}

func newTelemetry(set exporter.Settings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	t := &telemetry{builder: builder, drops: droplog.New(set.Logger), exporter: attribute.String("exporter", set.ID.String())}
	t.plain = t.with()
	t.lostAttributes = t.with(attribute.String("kind", "attribute"))
	t.lostTimestamps = t.with(attribute.String("kind", "timestamp"))
	return t, nil
}

func (t *telemetry) with(attributes ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(attributes, t.exporter)...))
}

func (t *telemetry) because(reason string) metric.MeasurementOption {
	return t.with(attribute.String("reason", reason))
}

// wrote counts a file that was written or was there already.
func (t *telemetry) wrote(ctx context.Context, result filestore.Result, payload pprof.Payload) {
	if !result.Written() {
		t.builder.ExporterPprofFilesUnchanged.Add(ctx, 1, t.plain)
		return
	}
	if result.Renamed {
		t.builder.ExporterPprofFilesRenamed.Add(ctx, 1, t.plain)
	}
	t.builder.ExporterPprofFilesWritten.Add(ctx, 1, t.plain)
	t.builder.ExporterPprofBytesWritten.Add(ctx, result.Size, t.plain)
	t.builder.ExporterPprofProfilesWritten.Add(ctx, int64(payload.Profiles), t.plain)
	t.builder.ExporterPprofSamplesWritten.Add(ctx, int64(payload.Samples), t.plain)
	t.lost(ctx, payload.Lost)
}

// requested counts a request by what came of it.
func (t *telemetry) requested(ctx context.Context, outcome string) {
	t.builder.ExporterPprofRequests.Add(ctx, 1, t.with(attribute.String("outcome", outcome)))
}

// sent counts what a request took along.
func (t *telemetry) sent(ctx context.Context, size int64, batch *outgoing) {
	t.builder.ExporterPprofBytesSent.Add(ctx, size, t.plain)
	t.builder.ExporterPprofProfilesWritten.Add(ctx, int64(batch.profiles), t.plain)
	t.builder.ExporterPprofSamplesWritten.Add(ctx, int64(batch.samples), t.plain)
	t.builder.ExporterPprofLabelsDropped.Add(ctx, int64(batch.labelsDropped), t.plain)
	t.lost(ctx, batch.lost)
}

// lost counts the parts that pprof has no place for.
func (t *telemetry) lost(ctx context.Context, lost pprof.Losses) {
	t.builder.ExporterPprofPartsLost.Add(ctx, int64(lost.Attributes), t.lostAttributes)
	t.builder.ExporterPprofPartsLost.Add(ctx, int64(lost.Timestamps), t.lostTimestamps)
}

func (t *telemetry) failed(ctx context.Context, reason string) {
	t.builder.ExporterPprofWriteFailures.Add(ctx, 1, t.because(reason))
}

// refused counts and logs profiles that are lost.
func (t *telemetry) refused(ctx context.Context, r *refusal) {
	t.builder.ExporterPprofProfilesRefused.Add(ctx, int64(r.profiles), t.because(r.reason))
	for service, profiles := range r.services {
		t.drops.Dropped(r.reason, service, profiles, r.err)
	}
}

func (t *telemetry) removed(reason filestore.Reason, size int64) {
	because := t.because(string(reason))
	t.builder.ExporterPprofFilesRemoved.Add(context.Background(), 1, because)
	t.builder.ExporterPprofBytesRemoved.Add(context.Background(), size, because)
}

// kept counts a pprof that is held.
func (t *telemetry) kept(ctx context.Context, payload pprof.Payload) {
	t.builder.ExporterPprofProfilesWritten.Add(ctx, int64(payload.Profiles), t.plain)
	t.builder.ExporterPprofSamplesWritten.Add(ctx, int64(payload.Samples), t.plain)
	t.lost(ctx, payload.Lost)
}

func (t *telemetry) evicted(reason recent.Reason) {
	t.builder.ExporterPprofProfilesEvicted.Add(context.Background(), 1, t.because(string(reason)))
}

// keeps reports what is held in memory, whenever metrics are read.
func (t *telemetry) keeps(store *recent.Store) error {
	err := t.builder.RegisterExporterPprofServedProfilesCallback(func(_ context.Context, o metric.Int64Observer) error {
		profiles, _ := store.Held()
		o.Observe(profiles, t.plain)
		return nil
	})
	if err != nil {
		return err
	}
	return t.builder.RegisterExporterPprofServedBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
		_, memory := store.Held()
		o.Observe(memory, t.plain)
		return nil
	})
}

// holds reports what the store has, whenever metrics are read.
func (t *telemetry) holds(store *filestore.Store) error {
	err := t.builder.RegisterExporterPprofHeldFilesCallback(func(_ context.Context, o metric.Int64Observer) error {
		if files, _, known := store.Held(); known {
			o.Observe(files, t.plain)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.builder.RegisterExporterPprofHeldBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
		if _, bytes, known := store.Held(); known {
			o.Observe(bytes, t.plain)
		}
		return nil
	})
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"context"

	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/filestore"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The values of the attribute reason of refused profiles, beside those of all exporters, and of failed writes, as in
// metadata.yaml.
const (
	refusedBlocked = "blocked"
	// refusedRejected is for what the destination does not take.
	refusedRejected = "rejected"

	failedFull   = "full"
	failedDenied = "denied"
	failedOther  = "other"
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
		ProfilesWritten: builder.ExporterPprofProfilesWritten,
		SamplesWritten:  builder.ExporterPprofSamplesWritten,
		PartsLost:       builder.ExporterPprofPartsLost,
		ProfilesRefused: builder.ExporterPprofProfilesRefused,
	})}, nil
}

// wrote counts a file that was written or was there already.
func (t *telemetry) wrote(ctx context.Context, result filestore.Result, payload *pprof.Payload) {
	if !result.Written() {
		t.builder.ExporterPprofFilesUnchanged.Add(ctx, 1, t.Plain)
		return
	}
	if result.Renamed {
		t.builder.ExporterPprofFilesRenamed.Add(ctx, 1, t.Plain)
	}
	t.builder.ExporterPprofFilesWritten.Add(ctx, 1, t.Plain)
	t.builder.ExporterPprofBytesWritten.Add(ctx, result.Size, t.Plain)
	t.Wrote(ctx, payload.Profiles, payload.Samples, payload.Lost)
}

// requested counts a request by what came of it.
func (t *telemetry) requested(ctx context.Context, outcome string) {
	t.builder.ExporterPprofRequests.Add(ctx, 1, t.With(attribute.String("outcome", outcome)))
}

// sent counts what a request took along.
func (t *telemetry) sent(ctx context.Context, size int64, batch *httpBatch) {
	t.builder.ExporterPprofBytesSent.Add(ctx, size, t.Plain)
	t.builder.ExporterPprofLabelsDropped.Add(ctx, int64(batch.labelsDropped), t.Plain)
	t.Wrote(ctx, batch.profiles, batch.samples, batch.lost)
}

func (t *telemetry) failed(ctx context.Context, reason string) {
	t.builder.ExporterPprofWriteFailures.Add(ctx, 1, t.Because(reason))
}

func (t *telemetry) removed(reason filestore.Reason, size int64) {
	because := t.Because(string(reason))
	t.builder.ExporterPprofFilesRemoved.Add(context.Background(), 1, because)
	t.builder.ExporterPprofBytesRemoved.Add(context.Background(), size, because)
}

// holds reports what the store has, whenever metrics are read.
func (t *telemetry) holds(store *filestore.Store) error {
	err := t.builder.RegisterExporterPprofHeldFilesCallback(func(_ context.Context, o metric.Int64Observer) error {
		if files, _, known := store.Held(); known {
			o.Observe(files, t.Plain)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.builder.RegisterExporterPprofHeldBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
		if _, bytes, known := store.Held(); known {
			o.Observe(bytes, t.Plain)
		}
		return nil
	})
}

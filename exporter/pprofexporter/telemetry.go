// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"context"

	"go.opentelemetry.io/collector/exporter"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/filestore"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// refusedRejected is the reason of profiles that the backend rejected. Other reasons are those of the packages delivery and filestore.
// metadata.yaml lists them.
const refusedRejected = "rejected"

// telemetry counts what the exporter does. Its metrics are described in documentation.md.
type telemetry struct {
	*delivery.Telemetry
	builder *metadata.TelemetryBuilder
}

// newTelemetry has a copy in the exporter profile_view, because the generated builders share no type.
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

// wrote counts a file that was written, or that existed with the same content.
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

// sent counts the contents of a request that the backend accepted.
func (t *telemetry) sent(ctx context.Context, size int64, batch *httpBatch) {
	t.builder.ExporterPprofBytesSent.Add(ctx, size, t.Plain)
	t.builder.ExporterPprofLabelsDropped.Add(ctx, int64(batch.labelsDropped), t.Plain)
	t.Wrote(ctx, len(batch.positions), batch.samples, batch.lost)
}

func (t *telemetry) removed(reason filestore.Reason, size int64) {
	attributes := t.Because(string(reason))
	t.builder.ExporterPprofFilesRemoved.Add(context.Background(), 1, attributes)
	t.builder.ExporterPprofBytesRemoved.Add(context.Background(), size, attributes)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer"

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/debuginfo"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/metadata"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/upload"
)

// What becomes of locations, beside the results of a source for a binary without an index.
const (
	resultNamed     source.Result = "named"
	resultUnknown   source.Result = "unknown"
	resultNoBuildID source.Result = "no_build_id"
	resultMemory    source.Result = "memory"
)

// telemetry records the metrics of documentation.md.
type telemetry struct {
	builder   *metadata.TelemetryBuilder
	logger    *zap.Logger
	processor attribute.KeyValue
	cached    atomic.Int64
}

func newTelemetry(set processor.Settings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	t := &telemetry{builder: builder, logger: set.Logger, processor: attribute.String("processor", set.ID.String())}
	err = builder.RegisterProcessorProfileSymbolizerCacheBytesCallback(func(_ context.Context, observer metric.Int64Observer) error {
		observer.Observe(t.cached.Load(), t.with())
		return nil
	})
	return t, err
}

func (t *telemetry) with(attributes ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(attributes, t.processor)...))
}

// locations counts the locations of a message by result.
func (t *telemetry) locations(ctx context.Context, counts map[source.Result]int64) {
	for result, n := range counts {
		if n > 0 {
			t.builder.ProcessorProfileSymbolizerLocations.Add(ctx, n, t.with(attribute.String("result", string(result))))
		}
	}
}

// fetched counts the result of a source.
func (t *telemetry) fetched(name string, result source.Result, err error) {
	t.builder.ProcessorProfileSymbolizerFetches.Add(context.Background(), 1,
		t.with(attribute.String("source", name), attribute.String("result", string(result))))
	if err != nil {
		t.logger.Warn("Cannot get the symbols of a binary. It is looked for again after failed_for, or missing_for.", zap.String("source", name), zap.Error(err))
	}
}

// indexed records the time of an index, and what of DWARF was not read.
func (t *telemetry) indexed(duration time.Duration, stats debuginfo.Stats) {
	ctx := context.Background()
	t.builder.ProcessorProfileSymbolizerIndexDuration.Record(ctx, duration.Seconds(), t.with())
	for reason, n := range map[string]int{
		"split": stats.Split, "alternate": stats.Elsewhere, "version": stats.Skipped, "malformed": stats.Malformed,
	} {
		if n > 0 {
			t.builder.ProcessorProfileSymbolizerUnreadDebugInfo.Add(ctx, int64(n), t.with(attribute.String("reason", reason)))
		}
	}
}

// uploaded counts the result of an upload.
func (t *telemetry) uploaded(result string, err error) {
	t.builder.ProcessorProfileSymbolizerUploads.Add(context.Background(), 1, t.with(attribute.String("result", result)))
	switch {
	case result == upload.Failed:
		t.logger.Warn("Cannot store an upload", zap.Error(err))
	case err != nil:
		t.logger.Debug("Refused an upload", zap.String("reason", result), zap.Error(err))
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// repairKinds names each number of [pprof.Repairs] for the metric.
var repairKinds = []struct {
	kind  string
	count func(*pprof.Repairs) int
}{
	{"unknown_field", func(r *pprof.Repairs) int { return r.UnknownFields }},
	{"invalid_utf8", func(r *pprof.Repairs) int { return r.InvalidUTF8 }},
	{"no_sample_type", func(r *pprof.Repairs) int { return r.NoSampleType }},
	{"no_value", func(r *pprof.Repairs) int { return r.NoValues }},
	{"repeated_entry", func(r *pprof.Repairs) int { return r.RepeatedEntries }},
	{"unknown_mapping", func(r *pprof.Repairs) int { return r.UnknownMappings }},
	{"no_function", func(r *pprof.Repairs) int { return r.NoFunction }},
	{"negative_time", func(r *pprof.Repairs) int { return r.NegativeTimes }},
	{"first_string", func(r *pprof.Repairs) int { return r.FirstString }},
}

// telemetry is the metrics of metadata.yaml, with the sets of attributes made beforehand.
type telemetry struct {
	builder  *metadata.TelemetryBuilder
	wire     metric.MeasurementOption
	inflated metric.MeasurementOption
	reasons  [classCount]metric.MeasurementOption
	repairs  []metric.MeasurementOption
}

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	t := &telemetry{
		builder:  builder,
		wire:     with("form", "wire"),
		inflated: with("form", "inflated"),
	}
	for class, answer := range answers {
		t.reasons[class] = with("reason", answer.reason)
	}
	for _, repair := range repairKinds {
		t.repairs = append(t.repairs, with("kind", repair.kind))
	}
	return t, nil
}

func with(key, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String(key, value)))
}

// translated counts a payload, whatever became of it.
func (t *telemetry) translated(ctx context.Context, wireBytes, inflatedBytes int, took time.Duration) {
	t.builder.ReceiverPprofPayloads.Add(ctx, 1)
	t.builder.ReceiverPprofBytes.Add(ctx, int64(wireBytes), t.wire)
	t.builder.ReceiverPprofBytes.Add(ctx, int64(inflatedBytes), t.inflated)
	t.builder.ReceiverPprofTranslateDuration.Record(ctx, took.Seconds())
}

// accepted counts what was unusual in a payload that the next consumer has taken.
func (t *telemetry) accepted(ctx context.Context, stats *pprof.DecodeStats) {
	if stats.Samples == 0 {
		t.builder.ReceiverPprofEmptyProfiles.Add(ctx, 1)
	}
	for i, repair := range repairKinds {
		if count := repair.count(&stats.Repairs); count > 0 {
			t.builder.ReceiverPprofRepairs.Add(ctx, int64(count), t.repairs[i])
		}
	}
}

func (t *telemetry) refused(ctx context.Context, c class) {
	t.builder.ReceiverPprofRefusals.Add(ctx, 1, t.reasons[c])
}

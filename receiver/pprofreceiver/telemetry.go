// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The ways in, as the attribute api names them.
const (
	wayPprof   = "pprof"
	wayIngest  = "pyroscope_ingest"
	wayPush    = "pyroscope_push"
	wayDatadog = "datadog"
	wayParca   = "parca"
	wayUnknown = "unknown"
	wayRemote  = "remote"
	wayScrape  = "scrape"
	wayFile    = "file"
	waySelf    = "self"
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

// way is the metrics of one way in, with the sets of attributes made beforehand.
type way struct {
	builder  *metadata.TelemetryBuilder
	name     attribute.KeyValue
	api      metric.MeasurementOption
	wire     metric.MeasurementOption
	inflated metric.MeasurementOption
	reasons  [classCount]metric.MeasurementOption
	repairs  []metric.MeasurementOption
}

func newWay(builder *metadata.TelemetryBuilder, name string) *way {
	api := attribute.String("api", name)
	w := &way{
		builder:  builder,
		name:     api,
		api:      with(api),
		wire:     with(api, attribute.String("form", "wire")),
		inflated: with(api, attribute.String("form", "inflated")),
	}
	for class, answer := range &answers {
		w.reasons[class] = with(api, attribute.String("reason", answer.reason))
	}
	for _, repair := range repairKinds {
		w.repairs = append(w.repairs, with(api, attribute.String("kind", repair.kind)))
	}
	return w
}

func with(attributes ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attributes...))
}

// translated counts a payload, whatever became of it.
func (w *way) translated(ctx context.Context, wireBytes, inflatedBytes int, took time.Duration) {
	w.builder.ReceiverPprofPayloads.Add(ctx, 1, w.api)
	w.builder.ReceiverPprofBytes.Add(ctx, int64(wireBytes), w.wire)
	w.builder.ReceiverPprofBytes.Add(ctx, int64(inflatedBytes), w.inflated)
	w.builder.ReceiverPprofTranslateDuration.Record(ctx, took.Seconds(), w.api)
}

// accepted counts what was unusual in a payload that the next consumer has taken.
func (w *way) accepted(ctx context.Context, stats *pprof.DecodeStats) {
	if stats.Samples == 0 {
		w.builder.ReceiverPprofEmptyProfiles.Add(ctx, 1, w.api)
	}
	for i, repair := range repairKinds {
		if count := repair.count(&stats.Repairs); count > 0 {
			w.builder.ReceiverPprofRepairs.Add(ctx, int64(count), w.repairs[i])
		}
	}
}

// ignored counts parts of a request that hold no profile.
func (w *way) ignored(ctx context.Context, count int) {
	if count > 0 {
		w.builder.ReceiverPprofIgnoredAttachments.Add(ctx, int64(count), w.api)
	}
}

// leftOut counts a payload that was refused while the others of its request were taken.
func (w *way) leftOut(ctx context.Context, c class) {
	w.builder.ReceiverPprofRefusedPayloads.Add(ctx, 1, w.reasons[c])
}

// fetched counts an attempt to fetch a profile.
func (w *way) fetched(ctx context.Context, outcome string) {
	w.builder.ReceiverPprofFetches.Add(ctx, 1, with(w.name, attribute.String("outcome", outcome)))
}

func (w *way) refused(ctx context.Context, c class) {
	w.builder.ReceiverPprofRefusals.Add(ctx, 1, w.reasons[c])
}

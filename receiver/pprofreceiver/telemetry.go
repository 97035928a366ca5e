// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Values of the attribute api, in addition to the names of the push APIs: unknown paths, and the sections that fetch.
const (
	nameUnknown = "unknown"
	nameRemote  = "remote"
	nameScrape  = "scrape"
	nameFile    = "file"
	nameSelf    = "self"
)

// obsFormat is the format in the standard metrics and spans of a receiver.
const obsFormat = "pprof"

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
	{"no_stack", func(r *pprof.Repairs) int { return r.NoStack }},
	{"invalid_time", func(r *pprof.Repairs) int { return r.InvalidTimes }},
}

// apiMetrics has the metrics for one value of the attribute api. The attribute sets that each payload needs are created once.
type apiMetrics struct {
	builder  *metadata.TelemetryBuilder
	name     attribute.KeyValue
	api      metric.MeasurementOption
	wire     metric.MeasurementOption
	inflated metric.MeasurementOption
}

func newAPIMetrics(builder *metadata.TelemetryBuilder, name string) *apiMetrics {
	api := attribute.String("api", name)
	return &apiMetrics{
		builder:  builder,
		name:     api,
		api:      with(api),
		wire:     with(api, attribute.String("form", "wire")),
		inflated: with(api, attribute.String("form", "inflated")),
	}
}

func with(attributes ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attributes...))
}

// translated counts a payload that was translated or refused.
func (m *apiMetrics) translated(ctx context.Context, wireBytes, inflatedBytes int, took time.Duration) {
	m.builder.ReceiverPprofPayloads.Add(ctx, 1, m.api)
	m.builder.ReceiverPprofBytes.Add(ctx, int64(wireBytes), m.wire)
	m.builder.ReceiverPprofBytes.Add(ctx, int64(inflatedBytes), m.inflated)
	m.builder.ReceiverPprofTranslateDuration.Record(ctx, took.Seconds(), m.api)
}

// accepted counts the repairs of a payload that the next consumer has accepted.
func (m *apiMetrics) accepted(ctx context.Context, stats *pprof.DecodeStats) {
	if stats.Samples == 0 {
		m.builder.ReceiverPprofEmptyProfiles.Add(ctx, 1, m.api)
	}
	for _, repair := range repairKinds {
		if count := repair.count(&stats.Repairs); count > 0 {
			m.builder.ReceiverPprofRepairs.Add(ctx, int64(count), with(m.name, attribute.String("kind", repair.kind)))
		}
	}
}

// ignored counts a part of a request that is not a profile.
func (m *apiMetrics) ignored(ctx context.Context) {
	m.builder.ReceiverPprofIgnoredAttachments.Add(ctx, 1, m.api)
}

// payloadRefused counts a payload that was refused while others of its request were accepted.
func (m *apiMetrics) payloadRefused(ctx context.Context, class refusalClass) {
	m.builder.ReceiverPprofRefusedPayloads.Add(ctx, 1, m.reason(class))
}

// fetched counts an attempt to fetch a profile.
func (m *apiMetrics) fetched(ctx context.Context, outcome string) {
	m.builder.ReceiverPprofFetches.Add(ctx, 1, with(m.name, attribute.String("outcome", outcome)))
}

// observe makes the number of counters that are kept for differences a metric.
func (m *apiMetrics) observe(remembered *memory.Share) error {
	return m.builder.RegisterReceiverPprofRememberedCountersCallback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(remembered.Used()/counterBytes, m.api)
		return nil
	})
}

func (m *apiMetrics) reason(class refusalClass) metric.MeasurementOption {
	return with(m.name, attribute.String("reason", class.reason))
}

func (m *apiMetrics) refused(ctx context.Context, class refusalClass) {
	m.builder.ReceiverPprofRefusals.Add(ctx, 1, m.reason(class))
}

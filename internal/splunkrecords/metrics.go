// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunkrecords

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelpprof/otelpprof/translator/splunk"
)

// Metrics are the metrics of the translation. Each component registers them with its own names, see its metadata.yaml.
type Metrics struct {
	Bytes             metric.Int64Counter
	EmptyRecords      metric.Int64Counter
	Events            metric.Int64Counter
	Records           metric.Int64Counter
	Refusals          metric.Int64Counter
	Repairs           metric.Int64Counter
	Samples           metric.Int64Counter
	TranslateDuration metric.Float64Histogram
}

// Attribute sets are made once, because that allocates memory.
var (
	formBody     = with("form", "body")
	formInflated = with("form", "inflated")
	formatPprof  = with("format", "pprof")
	formatText   = with("format", "text")

	reasons = func() map[splunk.Reason]metric.MeasurementOption {
		options := map[splunk.Reason]metric.MeasurementOption{}
		for _, reason := range splunk.Reasons() {
			options[reason] = with("reason", string(reason))
		}
		return options
	}()
)

// repairs has the attribute set of each number in [splunk.Repairs].
var repairs = []struct {
	kind  metric.MeasurementOption
	count func(*splunk.Repairs) int
}{
	{with("kind", "skipped_line"), func(r *splunk.Repairs) int { return r.SkippedLines }},
	{with("kind", "unknown_field"), func(r *splunk.Repairs) int { return r.UnknownFields }},
	{with("kind", "invalid_utf8"), func(r *splunk.Repairs) int { return r.InvalidUTF8 }},
	{with("kind", "repeated_entry"), func(r *splunk.Repairs) int { return r.RepeatedEntries }},
	{with("kind", "unknown_mapping"), func(r *splunk.Repairs) int { return r.UnknownMappings }},
	{with("kind", "no_time"), func(r *splunk.Repairs) int { return r.NoTime }},
	{with("kind", "repeated_label"), func(r *splunk.Repairs) int { return r.RepeatedLabels }},
	{with("kind", "ignored_number"), func(r *splunk.Repairs) int { return r.IgnoredNumbers }},
}

func with(key, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String(key, value)))
}

// count records the metrics of one request.
func (m *Metrics) count(ctx context.Context, result *splunk.Result, took time.Duration) {
	m.TranslateDuration.Record(ctx, took.Seconds())
	add(ctx, m.Records, result.PprofRecords, formatPprof)
	add(ctx, m.Records, result.TextRecords, formatText)
	add(ctx, m.EmptyRecords, result.EmptyRecords)
	add(ctx, m.Bytes, result.BodyBytes, formBody)
	add(ctx, m.Bytes, result.InflatedBytes, formInflated)
	add(ctx, m.Events, result.Events)
	add(ctx, m.Samples, result.Samples)
	for i := range result.Refused {
		m.Refusals.Add(ctx, 1, reasons[result.Refused[i].Reason])
	}
	for _, repair := range repairs {
		add(ctx, m.Repairs, repair.count(&result.Repairs), repair.kind)
	}
}

func add(ctx context.Context, counter metric.Int64Counter, n int, options ...metric.AddOption) {
	if n > 0 {
		counter.Add(ctx, int64(n), options...)
	}
}

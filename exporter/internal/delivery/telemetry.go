// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"

	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelpprof/otelpprof/internal/droplog"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Counters are those that each exporter has under a name of its own.
type Counters struct {
	ProfilesWritten, SamplesWritten, PartsLost, ProfilesRefused metric.Int64Counter
}

// Telemetry counts what came of profiles, and logs those that are lost.
type Telemetry struct {
	// Plain is for measurements that have no attribute but the exporter.
	Plain metric.MeasurementOption

	counters Counters
	drops    *droplog.Log
	exporter attribute.KeyValue
	// lostAttributes and lostTimestamps have the attribute kind of parts that are left out.
	lostAttributes, lostTimestamps metric.MeasurementOption
}

// NewTelemetry returns the telemetry of an exporter.
func NewTelemetry(set exporter.Settings, counters Counters) *Telemetry {
	t := &Telemetry{counters: counters, drops: droplog.New(set.Logger), exporter: attribute.String("exporter", set.ID.String())}
	t.Plain = t.With()
	t.lostAttributes = t.With(attribute.String("kind", "attribute"))
	t.lostTimestamps = t.With(attribute.String("kind", "timestamp"))
	return t
}

// With adds the exporter to attributes of a measurement.
func (t *Telemetry) With(attributes ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(attributes, t.exporter)...))
}

// Because is the attribute reason of a measurement.
func (t *Telemetry) Because(reason string) metric.MeasurementOption {
	return t.With(attribute.String("reason", reason))
}

// Wrote counts profiles that were written, and their parts that pprof has no place for.
func (t *Telemetry) Wrote(ctx context.Context, profiles, samples int, lost pprof.Losses) {
	t.counters.ProfilesWritten.Add(ctx, int64(profiles), t.Plain)
	t.counters.SamplesWritten.Add(ctx, int64(samples), t.Plain)
	t.counters.PartsLost.Add(ctx, int64(lost.Attributes), t.lostAttributes)
	t.counters.PartsLost.Add(ctx, int64(lost.Timestamps), t.lostTimestamps)
}

// Refused counts and logs profiles that are lost.
func (t *Telemetry) Refused(ctx context.Context, refusals ...*Refusal) {
	for _, r := range refusals {
		t.counters.ProfilesRefused.Add(ctx, int64(r.Profiles), t.Because(r.Reason))
		for service, profiles := range r.services {
			t.drops.Dropped(r.Reason, service, profiles, r.Err)
		}
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelpprof/otelpprof/internal/droplog"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Counters are the counters of an exporter. Each exporter registers them with its own names. PartsLost counts attributes and
// timestamps that pprof cannot represent.
type Counters struct {
	ProfilesWritten, SamplesWritten, PartsLost, ProfilesRefused metric.Int64Counter
}

// Telemetry counts written and refused profiles, and logs refused ones.
type Telemetry struct {
	// Plain has only the attribute exporter.
	Plain metric.MeasurementOption

	counters Counters
	drops    *droplog.Log
	exporter attribute.KeyValue
	// lostAttributes and lostTimestamps have the attribute kind, for parts of profiles that pprof cannot represent.
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

// With returns the attributes of a measurement, including the exporter.
func (t *Telemetry) With(attributes ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(attributes, t.exporter)...))
}

// Because returns the attributes of a measurement with a reason.
func (t *Telemetry) Because(reason string) metric.MeasurementOption {
	return t.With(attribute.String("reason", reason))
}

// Wrote counts written profiles, and those of their parts that pprof cannot represent.
func (t *Telemetry) Wrote(ctx context.Context, profiles, samples int, lost pprof.Losses) {
	t.counters.ProfilesWritten.Add(ctx, int64(profiles), t.Plain)
	t.counters.SamplesWritten.Add(ctx, int64(samples), t.Plain)
	t.counters.PartsLost.Add(ctx, int64(lost.Attributes), t.lostAttributes)
	t.counters.PartsLost.Add(ctx, int64(lost.Timestamps), t.lostTimestamps)
}

// refused counts and logs refused profiles.
func (t *Telemetry) refused(ctx context.Context, refusals ...*Refusal) {
	for _, r := range refusals {
		for service, profiles := range r.services {
			t.counters.ProfilesRefused.Add(ctx, int64(profiles), t.Because(r.Reason))
			t.drops.Dropped(r.Reason, service, profiles, r.Err)
		}
	}
}

// Observe reports what is held with two callbacks.
func (t *Telemetry) Observe(held func() (profiles, bytes int64, known bool), profiles, bytes func(metric.Int64Callback) error) error {
	return errors.Join(profiles(func(_ context.Context, o metric.Int64Observer) error {
		if n, _, known := held(); known {
			o.Observe(n, t.Plain)
		}
		return nil
	}), bytes(func(_ context.Context, o metric.Int64Observer) error {
		if _, n, known := held(); known {
			o.Observe(n, t.Plain)
		}
		return nil
	}))
}

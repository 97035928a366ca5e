// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpreceiver is the receiver otlp of Collector core, whose server for HTTP has limits of connections and headers.
//
// If confighttp gets an option max_header_bytes, and one for connections, configurations can set them for core's receiver. Then
// this package can go.
package otlpreceiver // import "github.com/otelpprof/otelpprof/receiver/otlpreceiver"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"
)

// core has the receivers that this package changes.
var core = otlpreceiver.NewFactory().(xreceiver.Factory)

// NewFactory returns the factory of the receiver. Its configuration is that of core's.
func NewFactory() xreceiver.Factory {
	return xreceiver.NewFactory(
		core.Type(),
		core.CreateDefaultConfig,
		xreceiver.WithTraces(creating(core.CreateTraces), core.TracesStability()),
		xreceiver.WithMetrics(creating(core.CreateMetrics), core.MetricsStability()),
		xreceiver.WithLogs(creating(core.CreateLogs), core.LogsStability()),
		xreceiver.WithProfiles(creating(core.CreateProfiles), core.ProfilesStability()),
	)
}

// creating returns the function that creates the receiver for a signal.
func creating[N any, R component.Component](
	createCore func(context.Context, receiver.Settings, component.Config, N) (R, error),
) func(context.Context, receiver.Settings, component.Config, N) (R, error) {
	return func(ctx context.Context, set receiver.Settings, cfg component.Config, next N) (R, error) {
		r, err := create(set, cfg, func(inner component.Config) (component.Component, error) { return createCore(ctx, set, inner, next) })
		return any(r).(R), err
	}
}

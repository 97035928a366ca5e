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
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
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
		xreceiver.WithTraces(createTraces, core.TracesStability()),
		xreceiver.WithMetrics(createMetrics, core.MetricsStability()),
		xreceiver.WithLogs(createLogs, core.LogsStability()),
		xreceiver.WithProfiles(createProfiles, core.ProfilesStability()),
	)
}

func createTraces(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
	return create(set, cfg, func(inner component.Config) (component.Component, error) {
		return core.CreateTraces(ctx, set, inner, next)
	})
}

func createMetrics(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	return create(set, cfg, func(inner component.Config) (component.Component, error) {
		return core.CreateMetrics(ctx, set, inner, next)
	})
}

func createLogs(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
	return create(set, cfg, func(inner component.Config) (component.Component, error) {
		return core.CreateLogs(ctx, set, inner, next)
	})
}

func createProfiles(ctx context.Context, set receiver.Settings, cfg component.Config, next xconsumer.Profiles) (xreceiver.Profiles, error) {
	return create(set, cfg, func(inner component.Config) (component.Component, error) {
		return core.CreateProfiles(ctx, set, inner, next)
	})
}

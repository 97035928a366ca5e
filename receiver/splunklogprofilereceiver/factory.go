// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/otelpprof/otelpprof/internal/resourcemetadata"
	"github.com/otelpprof/otelpprof/receiver/splunklogprofilereceiver/internal/metadata"
)

// NewFactory returns the factory of the receiver.
func NewFactory() xreceiver.Factory {
	return xreceiver.NewFactory(
		metadata.Type,
		createDefaultConfig,
		xreceiver.WithProfiles(createProfiles, metadata.ProfilesStability),
		xreceiver.WithLogs(createLogs, metadata.LogsStability),
		xreceiver.WithTraces(createTraces, metadata.TracesStability),
		xreceiver.WithMetrics(createMetrics, metadata.MetricsStability),
	)
}

// createProfiles creates the receiver for the profiles pipeline: profiles of log records, and received OTLP profiles.
func createProfiles(ctx context.Context, set receiver.Settings, cfg component.Config, next xconsumer.Profiles) (xreceiver.Profiles, error) {
	next = resourcemetadata.Wrap(next, cfg.(*Config).MetadataFromResource)
	return newPart(cfg.(*Config), &set, func(i *instance) (component.Component, error) {
		i.converter.profiles = next
		if _, err := i.otlp.CreateProfiles(ctx, i.settings, i.config, next); err != nil {
			return nil, err
		}
		return i.otlp.CreateLogs(ctx, i.settings, i.config, i.converter)
	})
}

// createLogs creates the receiver for the logs pipeline: all records that are no profiling records.
func createLogs(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
	return newPart(cfg.(*Config), &set, func(i *instance) (component.Component, error) {
		i.converter.logs = next
		return i.otlp.CreateLogs(ctx, i.settings, i.config, i.converter)
	})
}

func createTraces(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
	return newPart(cfg.(*Config), &set, func(i *instance) (component.Component, error) {
		return i.otlp.CreateTraces(ctx, i.settings, i.config, next)
	})
}

func createMetrics(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	return newPart(cfg.(*Config), &set, func(i *instance) (component.Component, error) {
		return i.otlp.CreateMetrics(ctx, i.settings, i.config, next)
	})
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofileconnector

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/xconnector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"

	"github.com/otelpprof/otelpprof/connector/splunklogprofileconnector/internal/metadata"
	"github.com/otelpprof/otelpprof/internal/resourcemetadata"
	"github.com/otelpprof/otelpprof/internal/splunkrecords"
)

// NewFactory returns the factory of the connector.
func NewFactory() xconnector.Factory {
	return xconnector.NewFactory(
		metadata.Type,
		createDefaultConfig,
		xconnector.WithLogsToProfiles(createLogsToProfiles, metadata.LogsToProfilesStability),
		xconnector.WithLogsToLogs(createLogsToLogs, metadata.LogsToLogsStability),
	)
}

func createLogsToProfiles(_ context.Context, set connector.Settings, cfg component.Config, next xconsumer.Profiles) (connector.Logs, error) {
	builder, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	metrics := splunkrecords.Metrics{
		Bytes:             builder.ConnectorSplunkLogProfileBytes,
		EmptyRecords:      builder.ConnectorSplunkLogProfileEmptyRecords,
		Events:            builder.ConnectorSplunkLogProfileEvents,
		Records:           builder.ConnectorSplunkLogProfileRecords,
		Refusals:          builder.ConnectorSplunkLogProfileRefusals,
		Repairs:           builder.ConnectorSplunkLogProfileRepairs,
		Samples:           builder.ConnectorSplunkLogProfileSamples,
		TranslateDuration: builder.ConnectorSplunkLogProfileTranslateDuration,
	}
	own := cfg.(*Config)
	return &toProfiles{
		translator: splunkrecords.NewTranslator(&own.Config, metrics, set.Logger),
		next:       resourcemetadata.Wrap(next, own.MetadataFromResource),
	}, nil
}

func createLogsToLogs(_ context.Context, set connector.Settings, _ component.Config, next consumer.Logs) (connector.Logs, error) {
	builder, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &toLogs{telemetry: builder, next: next}, nil
}

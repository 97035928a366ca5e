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
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/connector/splunklogprofileconnector/internal/metadata"
	"github.com/otelpprof/otelpprof/internal/resourcemetadata"
	"github.com/otelpprof/otelpprof/internal/splunkrecords"
	"github.com/otelpprof/otelpprof/translator/splunk"
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

// toProfiles translates profiling records to profiles. It ignores all other records.
type toProfiles struct {
	component.ShutdownFunc

	translator *splunkrecords.Translator
	next       xconsumer.Profiles
}

// Start starts the translator.
func (c *toProfiles) Start(_ context.Context, host component.Host) error {
	return c.translator.Start(host)
}

// Capabilities reports that the logs are not modified.
func (*toProfiles) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// ConsumeLogs passes on the profiles, if there are any. It ignores records that cannot be read: an error would affect the
// other records of the batch, which can come from other senders.
func (c *toProfiles) ConsumeLogs(ctx context.Context, logs plog.Logs) error {
	return c.translator.Translate(ctx, logs, func(ctx context.Context, profiles pprofile.Profiles, _ *splunk.Result) error {
		if profiles.ResourceProfiles().Len() == 0 {
			return nil
		}
		return c.next.ConsumeProfiles(ctx, profiles)
	})
}

// toLogs passes on all records except profiling records.
type toLogs struct {
	component.StartFunc
	component.ShutdownFunc

	telemetry *metadata.TelemetryBuilder
	next      consumer.Logs
}

// Capabilities reports that the logs are modified: profiling records are removed.
func (*toLogs) Capabilities() consumer.Capabilities { return consumer.Capabilities{MutatesData: true} }

// ConsumeLogs passes on the other records, if there are any.
func (c *toLogs) ConsumeLogs(ctx context.Context, logs plog.Logs) error {
	removed := splunk.RemoveProfiling(logs)
	others := logs.LogRecordCount()
	c.telemetry.ConnectorSplunkLogProfileRemovedRecords.Add(ctx, int64(removed))
	c.telemetry.ConnectorSplunkLogProfileOtherRecords.Add(ctx, int64(others))
	if removed > 0 && others == 0 {
		return nil
	}
	return c.next.ConsumeLogs(ctx, logs)
}

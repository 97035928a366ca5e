// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofileconnector

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/connector/splunklogprofileconnector/internal/metadata"
	"github.com/otelpprof/otelpprof/internal/splunkrecords"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// toProfiles makes profiles of the profiling records and drops all others, which are the business of toLogs.
type toProfiles struct {
	component.ShutdownFunc

	translator *splunkrecords.Translator
	next       xconsumer.Profiles
}

// Start finds the budget of memory.
func (c *toProfiles) Start(_ context.Context, host component.Host) error {
	return c.translator.Start(host)
}

// Capabilities says that logs are only read.
func (*toProfiles) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// ConsumeLogs hands on what profiles there are. A record that cannot be read is no error: a batch holds those of several
// senders.
func (c *toProfiles) ConsumeLogs(ctx context.Context, logs plog.Logs) error {
	return c.translator.Translate(ctx, logs, func(ctx context.Context, profiles pprofile.Profiles, _ *splunk.Result) error {
		if profiles.ResourceProfiles().Len() == 0 {
			return nil
		}
		return c.next.ConsumeProfiles(ctx, profiles)
	})
}

// toLogs hands on all records but the profiling records.
type toLogs struct {
	component.StartFunc
	component.ShutdownFunc

	telemetry *metadata.TelemetryBuilder
	next      consumer.Logs
}

// Capabilities says that profiling records are taken out of what comes in.
func (*toLogs) Capabilities() consumer.Capabilities { return consumer.Capabilities{MutatesData: true} }

// ConsumeLogs hands on what is left, if anything is.
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

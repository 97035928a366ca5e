// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/joinederrors"
	"github.com/otelpprof/otelpprof/internal/otlpstatus"
	"github.com/otelpprof/otelpprof/internal/splunkrecords"
	"github.com/otelpprof/otelpprof/receiver/splunklogprofilereceiver/internal/metadata"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// converter consumes all received logs. It passes profiling records on as profiles, and all other records as logs.
type converter struct {
	translator *splunkrecords.Translator
	telemetry  *metadata.TelemetryBuilder
	report     *receiverhelper.ObsReport
	logger     *zap.Logger
	otherLogs  string
	announced  sync.Once

	// A consumer is nil if the receiver is in no pipeline of its signal.
	profiles xconsumer.Profiles
	logs     consumer.Logs
}

var _ consumer.Logs = (*converter)(nil)

func newConverter(cfg *Config, set receiver.Settings) (*converter, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	report, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID:             set.ID,
		Transport:              "otlp",
		ReceiverCreateSettings: set,
	})
	if err != nil {
		return nil, err
	}
	metrics := splunkrecords.Metrics{
		Bytes:             telemetry.ReceiverSplunkLogProfileBytes,
		EmptyRecords:      telemetry.ReceiverSplunkLogProfileEmptyRecords,
		Events:            telemetry.ReceiverSplunkLogProfileEvents,
		Records:           telemetry.ReceiverSplunkLogProfileRecords,
		Refusals:          telemetry.ReceiverSplunkLogProfileRefusals,
		Repairs:           telemetry.ReceiverSplunkLogProfileRepairs,
		Samples:           telemetry.ReceiverSplunkLogProfileSamples,
		TranslateDuration: telemetry.ReceiverSplunkLogProfileTranslateDuration,
	}
	return &converter{
		translator: splunkrecords.NewTranslator(&cfg.Config, metrics, set.Logger),
		telemetry:  telemetry,
		report:     report,
		logger:     set.Logger,
		otherLogs:  cfg.OtherLogs,
	}, nil
}

// announce logs, once, which records have no pipeline.
func (c *converter) announce() {
	c.announced.Do(func() {
		switch {
		case c.profiles == nil && c.logs != nil:
			c.logger.Warn("The receiver is in no profiles pipeline: profiling records are passed on as logs")
		case c.profiles != nil && c.logs == nil:
			c.logger.Info("The receiver is in no logs pipeline: log records other than profiling records are not passed on",
				zap.String("other_logs", c.otherLogs))
		}
	})
}

// Capabilities reports that the logs are modified: profiling records are removed.
func (*converter) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// ConsumeLogs passes on the profiles first, then the other logs. If the next consumer refuses the profiles with a
// retryable error, the logs are not passed on, so that a retry does not duplicate them. If it refuses the logs, a retry
// repeats the profiles with the same ids.
func (c *converter) ConsumeLogs(ctx context.Context, logs plog.Logs) error {
	if c.profiles == nil {
		return c.logs.ConsumeLogs(ctx, logs)
	}
	return c.translator.Translate(ctx, logs, func(ctx context.Context, profiles pprofile.Profiles, result *splunk.Result) error {
		return c.consume(ctx, logs, profiles, result)
	})
}

// consume passes the profiles and the other logs to the next consumers.
func (c *converter) consume(ctx context.Context, logs plog.Logs, profiles pprofile.Profiles, result *splunk.Result) error {
	var refused error
	if profiles.ResourceProfiles().Len() > 0 {
		refused = joinederrors.Resolve(c.consumeProfiles(ctx, profiles))
		if refused != nil && !consumererror.IsPermanent(refused) {
			return refused
		}
	}
	consumed, err := c.consumeOthers(ctx, logs, result)
	err = joinederrors.Resolve(err)
	switch {
	case err != nil && !consumererror.IsPermanent(err):
		return err
	case refused != nil:
		return refused
	case err != nil:
		return err
	case len(result.Refused) < result.Records:
		return nil
	default:
		return c.resultError(result, consumed)
	}
}

func (c *converter) consumeProfiles(ctx context.Context, profiles pprofile.Profiles) error {
	samples := profiles.SampleCount()
	ctx = c.report.StartProfilesOp(ctx)
	err := c.profiles.ConsumeProfiles(ctx, profiles)
	c.report.EndProfilesOp(ctx, "splunk", samples, err)
	return err
}

// What happens to other records. Attribute sets are made once, because that allocates memory.
var (
	outcomePassedOn = outcome("handed_on")
	outcomeLost     = map[string]metric.MeasurementOption{
		OtherLogsDrop:   outcome("dropped"),
		OtherLogsReject: outcome("rejected"),
	}
)

func outcome(value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", value)))
}

// consumeOthers passes on the records that are no profiling records, if there is a logs pipeline.
func (c *converter) consumeOthers(ctx context.Context, logs plog.Logs, result *splunk.Result) (consumed bool, err error) {
	others := c.telemetry.ReceiverSplunkLogProfileOtherRecords
	switch {
	case result.OtherRecords == 0 && result.Records > 0:
		return false, nil
	case c.logs == nil:
		others.Add(ctx, int64(result.OtherRecords), outcomeLost[c.otherLogs])
		return false, nil
	case result.Records > 0:
		splunk.RemoveProfiling(logs)
	}
	others.Add(ctx, int64(result.OtherRecords), outcomePassedOn)
	return true, c.logs.ConsumeLogs(ctx, logs)
}

// resultError returns the error for a request without a readable profiling record. othersConsumed is true if other logs
// were passed on.
func (c *converter) resultError(result *splunk.Result, othersConsumed bool) error {
	switch {
	case othersConsumed:
		return nil
	case result.Records > 0:
		first := result.Refused[0]
		return otlpstatus.BadRequest("all %d profiling records are refused, the first one (%s): %w", result.Records, first.Reason, first.Err)
	case result.OtherRecords > 0 && c.otherLogs == OtherLogsReject:
		return otlpstatus.BadRequest("none of the %d log records is a profiling record, and other_logs is reject", result.OtherRecords)
	default:
		return nil
	}
}

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
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/badrequest"
	"github.com/otelpprof/otelpprof/internal/splunkrecords"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// converter is the consumer of all logs that come in: profiling records go on as profiles, all others as logs.
type converter struct {
	translator *splunkrecords.Translator
	telemetry  *telemetry
	report     *receiverhelper.ObsReport
	logger     *zap.Logger
	otherLogs  OtherLogs
	announced  sync.Once

	// Nil where the receiver is in no pipeline of this signal.
	profiles xconsumer.Profiles
	logs     consumer.Logs
}

var _ consumer.Logs = (*converter)(nil)

func newConverter(cfg *Config, set receiver.Settings) (*converter, error) {
	telemetry, err := newTelemetry(set.TelemetrySettings)
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
	return &converter{
		translator: splunkrecords.NewTranslator(&cfg.Config, telemetry.metrics, set.Logger),
		telemetry:  telemetry,
		report:     report,
		logger:     set.Logger,
		otherLogs:  cfg.OtherLogs,
	}, nil
}

// announce tells once what the pipelines leave without a taker.
func (c *converter) announce() {
	c.announced.Do(func() {
		switch {
		case c.profiles == nil && c.logs != nil:
			c.logger.Warn("In no pipeline of profiles: profiling records are handed on as the logs that they are")
		case c.profiles != nil && c.logs == nil:
			c.logger.Info("In no pipeline of logs: log records that are no profiling records have no taker",
				zap.String("other_logs", string(c.otherLogs)))
		}
	})
}

// Capabilities says that profiling records are taken out of what comes in.
func (*converter) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// ConsumeLogs hands on first the profiles, then the other logs. Where the profiles are to be sent again later, the logs
// wait for that, so that they do not come twice; where the logs are, the profiles come twice, with the same ids.
func (c *converter) ConsumeLogs(ctx context.Context, logs plog.Logs) error {
	if c.profiles == nil {
		return c.logs.ConsumeLogs(ctx, logs)
	}
	return c.translator.Translate(ctx, logs, func(ctx context.Context, profiles pprofile.Profiles, result *splunk.Result) error {
		return c.handOn(ctx, logs, profiles, result)
	})
}

// handOn gives the next consumers what logs became.
func (c *converter) handOn(ctx context.Context, logs plog.Logs, profiles pprofile.Profiles, result *splunk.Result) error {
	var refused error
	if profiles.ResourceProfiles().Len() > 0 {
		refused = c.consumeProfiles(ctx, profiles)
		if refused != nil && !consumererror.IsPermanent(refused) {
			return refused
		}
	}
	taken, err := c.consumeOthers(ctx, logs, result)
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
		return c.judge(result, taken)
	}
}

func (c *converter) consumeProfiles(ctx context.Context, profiles pprofile.Profiles) error {
	samples := profiles.SampleCount()
	ctx = c.report.StartProfilesOp(ctx)
	err := c.profiles.ConsumeProfiles(ctx, profiles)
	c.report.EndProfilesOp(ctx, "splunk", samples, err)
	return err
}

// consumeOthers hands on the records that are no profiling records, if somebody takes them.
func (c *converter) consumeOthers(ctx context.Context, logs plog.Logs, result *splunk.Result) (taken bool, err error) {
	switch {
	case result.OtherRecords == 0 && result.Records > 0:
		return false, nil
	case c.logs == nil:
		c.telemetry.lost(ctx, result.OtherRecords, c.otherLogs)
		return false, nil
	case result.Records > 0:
		splunk.RemoveProfiling(logs)
	}
	c.telemetry.handedOn(ctx, result.OtherRecords)
	return true, c.logs.ConsumeLogs(ctx, logs)
}

// judge finds the answer for a request of which no profiling record could be read. othersTaken tells whether other logs
// were handed on.
func (c *converter) judge(result *splunk.Result, othersTaken bool) error {
	switch {
	case othersTaken:
		return nil
	case result.Records > 0:
		first := result.Refused[0]
		return badrequest.Errorf("all %d profiling records are refused, the first one (%s): %w", result.Records, first.Reason, first.Err)
	case result.OtherRecords > 0 && c.otherLogs == OtherLogsReject:
		return badrequest.Errorf("none of the %d log records is a profiling record, and nothing else is taken here", result.OtherRecords)
	default:
		return nil
	}
}

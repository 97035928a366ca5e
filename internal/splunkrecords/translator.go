// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunkrecords

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/printable"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// maxText is what a line of the log repeats of an attribute that a sender chose.
const maxText = 200

// Translator makes profiles of the profiling records among logs and tells what became of them. Safe for concurrent use.
type Translator struct {
	decoder *splunk.Decoder
	// budget is nil until Start, of which there may be several.
	budget  atomic.Pointer[budget.Budget]
	metrics Metrics
	logger  *zap.Logger
	refused occasion
}

// NewTranslator returns a Translator that counts in these metrics and names refused records in the log.
func NewTranslator(cfg *Config, metrics Metrics, logger *zap.Logger) *Translator {
	return &Translator{decoder: splunk.NewDecoder(cfg.options()), metrics: metrics, logger: logger}
}

// Start finds the budget that the memory of translations comes out of.
func (t *Translator) Start(host component.Host) error {
	found, err := budget.Of(host)
	t.budget.Store(found)
	return err
}

// Translate is splunk.Decoder.Decode, with its result in the metrics and the refusals in the log. What it takes is reserved,
// by the reservation of ctx if there is one, until next has returned, which gets the profiles. The error is that of next, or
// one that says that there is no memory now: then next was not called, and the sender is to try again.
func (t *Translator) Translate(
	ctx context.Context, logs plog.Logs, next func(context.Context, pprofile.Profiles, *splunk.Result) error,
) error {
	reservation := budget.FromContext(ctx)
	if shared := t.budget.Load(); reservation == nil && shared != nil {
		var err error
		if reservation, err = shared.Reserve(ctx, 0); err != nil {
			return err
		}
		ctx = budget.NewContext(ctx, reservation)
	}
	before := reservation.Bytes()
	defer func() { reservation.Shrink(before) }()
	var exhausted error
	start := time.Now()
	profiles, result := t.decoder.DecodeReserving(logs, pcommon.NewTimestampFromTime(start), func(bytes int64) error {
		if exhausted != nil {
			return exhausted
		}
		err := reservation.Grow(ctx, before+bytes)
		if err != nil && !errors.Is(err, budget.ErrTooLarge) {
			exhausted = err
		}
		return err
	})
	if len(result.Refused) > 0 {
		t.nameRefused(logs, result.Refused)
	}
	if exhausted != nil {
		t.metrics.count(ctx, &splunk.Result{Refused: result.Refused}, time.Since(start))
		return fmt.Errorf("cannot translate profiling records now: %w", exhausted)
	}
	if result.Records > 0 {
		t.metrics.count(ctx, &result, time.Since(start))
	}
	reservation.Shrink(before + result.MessageBytes)
	return next(ctx, profiles, &result)
}

// nameRefused writes a line about the first of the records, unless there was one a moment ago: then these count in the
// next one.
func (t *Translator) nameRefused(logs plog.Logs, refused []splunk.Refusal) {
	count, allowed := t.refused.report(len(refused), time.Now())
	if !allowed {
		return
	}
	first := refused[0]
	resource := logs.ResourceLogs().At(first.Resource)
	fields := []zap.Field{
		zap.Int("records_since_last_line", count),
		zap.String("reason", string(first.Reason)),
		zap.Error(first.Err),
		zap.String("scope_version", printable.Line(resource.ScopeLogs().At(first.Scope).Scope().Version(), maxText)),
	}
	for _, key := range []string{
		"service.name", "telemetry.sdk.language", "telemetry.distro.version", "splunk.distro.version", "host.name",
	} {
		if value, found := resource.Resource().Attributes().Get(key); found {
			fields = append(fields, zap.String(key, printable.Line(attributevalue.Text(value), maxText)))
		}
	}
	t.logger.Warn("Refused profiling records, the first of them for this reason", fields...)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunkrecords

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/printable"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// maxText is what a line of the log repeats of an attribute that a sender chose.
const maxText = 200

// Translator makes profiles of the profiling records among logs and tells what became of them. Safe for concurrent use.
type Translator struct {
	decoder *splunk.Decoder
	metrics Metrics
	logger  *zap.Logger
	refused occasion
}

// NewTranslator returns a Translator that counts in these metrics and names refused records in the log.
func NewTranslator(cfg *Config, metrics Metrics, logger *zap.Logger) *Translator {
	return &Translator{decoder: splunk.NewDecoder(cfg.options()), metrics: metrics, logger: logger}
}

// Translate is splunk.Decoder.Decode, with its result in the metrics and the refusals in the log.
func (t *Translator) Translate(ctx context.Context, logs plog.Logs) (pprofile.Profiles, splunk.Result) {
	start := time.Now()
	profiles, result := t.decoder.Decode(logs, pcommon.NewTimestampFromTime(start))
	if result.Records > 0 {
		t.metrics.count(ctx, &result, time.Since(start))
	}
	if len(result.Refused) > 0 {
		t.nameRefused(logs, result.Refused)
	}
	return profiles, result
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

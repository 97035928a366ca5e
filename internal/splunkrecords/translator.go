// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunkrecords

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/printable"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// maxText limits the characters of an attribute in a log line.
const maxText = 200

// Translator translates profiling records to profiles, and counts and logs the results. Safe for concurrent use.
type Translator struct {
	decoder *splunk.Decoder
	// It is nil until Start, and atomic, since Start may be called several times.
	budget  atomic.Pointer[memory.Budget]
	metrics Metrics
	logger  *zap.Logger
	limiter logLimiter
}

// NewTranslator returns a Translator. It logs refused records to logger.
func NewTranslator(cfg *Config, metrics Metrics, logger *zap.Logger) *Translator {
	return &Translator{decoder: splunk.NewDecoder(cfg.options()), metrics: metrics, logger: logger}
}

// Start must be called before records arrive.
func (t *Translator) Start(host component.Host) error {
	found, err := memory.Of(host)
	t.budget.Store(found)
	return err
}

// Translate translates the profiling records among logs, counts the result, logs refused records, and calls next with the
// profiles. It returns the error of next. If there is no memory for them now, it does not call next, and the error is retryable. If there never
// can be, all records are refused.
func (t *Translator) Translate(
	ctx context.Context, logs plog.Logs, next func(context.Context, pprofile.Profiles, *splunk.Result) error,
) error {
	own := t.budget.Load().Beside(ctx)
	defer own.Release()
	work := own.Meter(ctx, 0)
	start := time.Now()
	profiles, result := t.decoder.Decode(logs, pcommon.NewTimestampFromTime(start), func(bytes int64) error {
		err := work.Reserve(bytes)
		if errors.Is(err, memory.ErrTooLarge) {
			work.Clear() // Another record may fit.
		}
		return err
	})
	exhausted := work.Err()
	if exhausted == nil {
		exhausted = own.Resize(ctx, memory.MessageFactor*result.MessageBytes)
	}
	switch {
	case exhausted != nil && !errors.Is(exhausted, memory.ErrTooLarge):
		// Nothing is counted or logged: the client sends all records again.
		return fmt.Errorf("cannot translate profiling records now: %w", exhausted)
	case exhausted != nil:
		from := profiles.ResourceProfiles().At(0)
		profiles, result = pprofile.NewProfiles(), refuseAll(&result, exhausted)
		t.logRefused(result.Refused, from.Resource(), from.ScopeProfiles().At(0).Scope())
		own.Shrink(0)
	case len(result.Refused) > 0:
		first := result.Refused[0]
		from := logs.ResourceLogs().At(first.Resource)
		t.logRefused(result.Refused, from.Resource(), from.ScopeLogs().At(first.Scope).Scope())
	}
	if result.Records > 0 {
		t.metrics.count(ctx, &result, time.Since(start))
	}
	return next(memory.NewContext(ctx, own), profiles, &result)
}

// refuseAll returns the result if the profiles of all records together need too much memory. Those that would have fitted alone come first.
func refuseAll(result *splunk.Result, err error) splunk.Result {
	err = fmt.Errorf("cannot hold the profiles of all records: %w", err)
	fitted := slices.Repeat([]splunk.Refusal{{Reason: splunk.ReasonMemory, Err: err}}, result.Records-len(result.Refused))
	return splunk.Result{
		Records: result.Records, OtherRecords: result.OtherRecords, BodyBytes: result.BodyBytes, InflatedBytes: result.InflatedBytes,
		Refused: append(fitted, result.Refused...),
	}
}

// logRefused logs the first of the refused records, at most once per logInterval, with what names its sender. The line has the number of
// records that were refused since the last line.
func (t *Translator) logRefused(refused []splunk.Refusal, resource pcommon.Resource, scope pcommon.InstrumentationScope) {
	count, allowed := t.limiter.add(len(refused), time.Now())
	if !allowed {
		return
	}
	first := refused[0]
	fields := []zap.Field{
		zap.Int("records_since_last_line", count),
		zap.String("reason", string(first.Reason)),
		zap.Error(first.Err),
		zap.String("scope_version", printable.Line(scope.Version(), maxText)),
	}
	for _, key := range []string{
		"service.name", "telemetry.sdk.language", "telemetry.distro.version", "splunk.distro.version", "host.name",
	} {
		if value, found := resource.Attributes().Get(key); found {
			fields = append(fields, zap.String(key, printable.Line(attributevalue.Text(value), maxText)))
		}
	}
	t.logger.Warn("Refused profiling records. The other fields describe the first one.", fields...)
}

// logInterval is the least time between two lines. Without it, a faulty agent could cause a line per second.
const logInterval = 10 * time.Second

// logLimiter limits the rate of log lines. The zero value is ready for use.
type logLimiter struct {
	mu    sync.Mutex
	next  time.Time
	count int
}

// add counts events. It reports whether a line may be written now, and the number of events since the last line.
func (o *logLimiter) add(events int, now time.Time) (count int, allowed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count += events
	if now.Before(o.next) {
		return 0, false
	}
	count, o.count, o.next = o.count, 0, now.Add(logInterval)
	return count, true
}

// Metrics are the metrics of the translation. Each component registers them with its own names, see its metadata.yaml.
type Metrics struct {
	Bytes             metric.Int64Counter
	EmptyRecords      metric.Int64Counter
	Events            metric.Int64Counter
	Records           metric.Int64Counter
	Refusals          metric.Int64Counter
	Repairs           metric.Int64Counter
	Samples           metric.Int64Counter
	TranslateDuration metric.Float64Histogram
}

// Attribute sets are made once, because that allocates memory.
var (
	formBody     = with("form", "body")
	formInflated = with("form", "inflated")
	formatPprof  = with("format", "pprof")
	formatText   = with("format", "text")

	reasons = func() map[splunk.Reason]metric.MeasurementOption {
		options := map[splunk.Reason]metric.MeasurementOption{}
		for _, reason := range splunk.Reasons() {
			options[reason] = with("reason", string(reason))
		}
		return options
	}()
)

// repairs has the attribute set of each number in [splunk.Repairs].
var repairs = []struct {
	kind  metric.MeasurementOption
	count func(*splunk.Repairs) int
}{
	{with("kind", "skipped_line"), func(r *splunk.Repairs) int { return r.SkippedLines }},
	{with("kind", "unknown_field"), func(r *splunk.Repairs) int { return r.UnknownFields }},
	{with("kind", "invalid_utf8"), func(r *splunk.Repairs) int { return r.InvalidUTF8 }},
	{with("kind", "repeated_entry"), func(r *splunk.Repairs) int { return r.RepeatedEntries }},
	{with("kind", "unknown_mapping"), func(r *splunk.Repairs) int { return r.UnknownMappings }},
	{with("kind", "no_time"), func(r *splunk.Repairs) int { return r.NoTime }},
	{with("kind", "repeated_label"), func(r *splunk.Repairs) int { return r.RepeatedLabels }},
	{with("kind", "ignored_number"), func(r *splunk.Repairs) int { return r.IgnoredNumbers }},
}

func with(key, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String(key, value)))
}

// count records the metrics of one request.
func (m *Metrics) count(ctx context.Context, result *splunk.Result, took time.Duration) {
	m.TranslateDuration.Record(ctx, took.Seconds())
	add(ctx, m.Records, result.PprofRecords, formatPprof)
	add(ctx, m.Records, result.TextRecords, formatText)
	add(ctx, m.EmptyRecords, result.EmptyRecords)
	add(ctx, m.Bytes, result.BodyBytes, formBody)
	add(ctx, m.Bytes, result.InflatedBytes, formInflated)
	add(ctx, m.Events, result.Events)
	add(ctx, m.Samples, result.Samples)
	for i := range result.Refused {
		m.Refusals.Add(ctx, 1, reasons[result.Refused[i].Reason])
	}
	for _, repair := range repairs {
		add(ctx, m.Repairs, repair.count(&result.Repairs), repair.kind)
	}
}

func add(ctx context.Context, counter metric.Int64Counter, n int, options ...metric.AddOption) {
	if n > 0 {
		counter.Add(ctx, int64(n), options...)
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/droplog"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/metadata"
)

// The values of the attribute reason of refused messages and of lost profiles, as in metadata.yaml.
const (
	refusedInvalid   = "invalid"
	refusedTooLarge  = "too_large"
	refusedHeldBytes = "held_bytes"
	refusedTenants   = "tenants"
	refusedInFlight  = "in_flight"
	refusedStopped   = "stopped"
	refusedBudget    = "memory_budget"

	lostPermanent = "permanent"
	lostRetries   = "retries"
	lostShutdown  = "shutdown"
)

// The values of the attribute trigger.
const (
	triggerTimeout = "timeout"
	triggerSamples = "samples"
	triggerBytes   = "bytes"
	// triggerFull means that a limit on all batches did not allow another message.
	triggerFull     = "full"
	triggerShutdown = "shutdown"
)

// telemetry records the metrics of documentation.md. It keeps attribute sets, so that they are not made for each message.
type telemetry struct {
	builder   *metadata.TelemetryBuilder
	drops     *droplog.Log
	processor attribute.KeyValue
	plain     metric.MeasurementOption
	// These options are slices, so that a call with them allocates nothing.
	plainAdd    []metric.AddOption
	plainRecord []metric.RecordOption
	tables      [len(dictionary.TableNames)][]metric.AddOption
}

func newTelemetry(set processor.Settings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	t := &telemetry{builder: builder, drops: droplog.New(set.Logger), processor: attribute.String("processor", set.ID.String())}
	t.plain = t.with()
	t.plainAdd, t.plainRecord = []metric.AddOption{t.plain}, []metric.RecordOption{t.plain}
	for i, name := range dictionary.TableNames {
		t.tables[i] = []metric.AddOption{t.with(attribute.String("table", name))}
	}
	return t, nil
}

func (t *telemetry) with(attributes ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(attributes, t.processor)...))
}

func (t *telemetry) withReason(reason string) metric.MeasurementOption {
	return t.with(attribute.String("reason", reason))
}

// incoming counts a received message.
func (t *telemetry) incoming(ctx context.Context, in content) {
	t.builder.ProcessorProfileDeduplicatorIncomingProfiles.Add(ctx, int64(in.profiles), t.plainAdd...)
	t.builder.ProcessorProfileDeduplicatorIncomingSamples.Add(ctx, int64(in.samples), t.plainAdd...)
	t.builder.ProcessorProfileDeduplicatorIncomingBytes.Add(ctx, int64(in.bytes), t.plainAdd...)
	for i, n := range in.entries {
		t.builder.ProcessorProfileDeduplicatorIncomingDictionaryEntries.Add(ctx, int64(n), t.tables[i]...)
	}
}

// outgoing counts a message that the next consumer has accepted.
func (t *telemetry) outgoing(ctx context.Context, out content) {
	t.builder.ProcessorProfileDeduplicatorOutgoingProfiles.Add(ctx, int64(out.profiles), t.plainAdd...)
	t.builder.ProcessorProfileDeduplicatorOutgoingSamples.Add(ctx, int64(out.samples), t.plainAdd...)
	for i, n := range out.entries {
		t.builder.ProcessorProfileDeduplicatorOutgoingDictionaryEntries.Add(ctx, int64(n), t.tables[i]...)
	}
}

// saved counts the difference between the received and the passed-on bytes.
func (t *telemetry) saved(ctx context.Context, bytes int) {
	t.builder.ProcessorProfileDeduplicatorSavedBytes.Add(ctx, int64(bytes), t.plainAdd...)
}

// deduplicated counts what deduplication has changed in a message, and its duration.
func (t *telemetry) deduplicated(ctx context.Context, stats *dedup.Stats, took time.Duration) {
	t.builder.ProcessorProfileDeduplicatorProcessingDuration.Record(ctx, took.Seconds(), t.plainRecord...)
	for reason, n := range stats.Invalid {
		if n > 0 {
			t.builder.ProcessorProfileDeduplicatorInvalidProfiles.Add(ctx, int64(n), t.withReason(dedup.Reason(reason).String()))
		}
	}
	for key, drop := range stats.Dropped {
		t.drops.Dropped(key.Reason.String(), key.Service, drop.Profiles, drop.Err)
	}
	for _, count := range []struct {
		of metric.Int64Counter
		n  int
	}{
		{t.builder.ProcessorProfileDeduplicatorClearedLines, stats.ClearedLines},
		{t.builder.ProcessorProfileDeduplicatorWidenedProfiles, stats.WidenedProfiles},
		{t.builder.ProcessorProfileDeduplicatorDroppedAttributes, stats.DroppedAttributes},
		{t.builder.ProcessorProfileDeduplicatorDroppedEmptyProfiles, stats.EmptyProfiles},
		{t.builder.ProcessorProfileDeduplicatorDroppedLinks, stats.PartialLinks},
		{t.builder.ProcessorProfileDeduplicatorDroppedZeroSamples, stats.ZeroSamples},
		{t.builder.ProcessorProfileDeduplicatorMendedTexts, stats.MendedTexts},
		{t.builder.ProcessorProfileDeduplicatorMixedShapeSamples, stats.MixedShapes},
		{t.builder.ProcessorProfileDeduplicatorNamedFunctions, stats.NamedFunctions},
	} {
		if count.n > 0 {
			count.of.Add(ctx, int64(count.n), t.plain)
		}
	}
}

func (t *telemetry) repeated(ctx context.Context, profiles int) {
	t.builder.ProcessorProfileDeduplicatorRepeatedProfiles.Add(ctx, int64(profiles), t.plain)
}

func (t *telemetry) refused(ctx context.Context, reason string) {
	t.builder.ProcessorProfileDeduplicatorRefusedMessages.Add(ctx, 1, t.withReason(reason))
}

func (t *telemetry) merged(ctx context.Context, profiles int) {
	t.builder.ProcessorProfileDeduplicatorMergedProfiles.Add(ctx, int64(profiles), t.plain)
}

// flushed counts a batch that was passed on.
func (t *telemetry) flushed(ctx context.Context, trigger string, messages, samples, bytes int) {
	attributes := t.with(attribute.String("trigger", trigger))
	t.builder.ProcessorProfileDeduplicatorBatchMessages.Record(ctx, int64(messages), attributes)
	t.builder.ProcessorProfileDeduplicatorBatchSamples.Record(ctx, int64(samples), attributes)
	t.builder.ProcessorProfileDeduplicatorBatchBytes.Record(ctx, int64(bytes), attributes)
}

// oversized counts a message that is above max_bytes.
func (t *telemetry) oversized(ctx context.Context) {
	t.builder.ProcessorProfileDeduplicatorOversizedMessages.Add(ctx, 1, t.plain)
}

func (t *telemetry) retried(ctx context.Context) {
	t.builder.ProcessorProfileDeduplicatorRetries.Add(ctx, 1, t.plain)
}

func (t *telemetry) lost(ctx context.Context, reason string, profiles, samples int) {
	attributes := t.withReason(reason)
	t.builder.ProcessorProfileDeduplicatorLostProfiles.Add(ctx, int64(profiles), attributes)
	t.builder.ProcessorProfileDeduplicatorLostSamples.Add(ctx, int64(samples), attributes)
}

func (t *telemetry) evicted(n int) {
	t.builder.ProcessorProfileDeduplicatorEvictedIds.Add(context.Background(), int64(n), t.plain)
}

// observeIDs registers the metric of remembered ids.
func (t *telemetry) observeIDs(ids *deliveredIDs) error {
	return t.builder.RegisterProcessorProfileDeduplicatorRememberedIdsCallback(
		t.observing(func() int64 { return int64(ids.len()) }))
}

// observeBatches registers the metrics of held messages.
func (t *telemetry) observeBatches(b *batching) error {
	return errors.Join(
		t.builder.RegisterProcessorProfileDeduplicatorHeldBytesCallback(t.observing(func() int64 { bytes, _ := b.usage(); return bytes })),
		t.builder.RegisterProcessorProfileDeduplicatorHeldTenantsCallback(t.observing(func() int64 { _, tenants := b.usage(); return int64(tenants) })),
	)
}

func (t *telemetry) observing(value func() int64) metric.Int64Callback {
	return func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(value(), t.plain)
		return nil
	}
}

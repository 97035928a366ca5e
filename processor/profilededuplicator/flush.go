// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"
	"errors"
	"runtime"
	"time"

	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/processor"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/recent"
)

// batching makes one message of many.
type batching struct {
	cfg       BatchConfig
	batches   *batches
	core      *dedup.Deduplicator
	deliverer deliverer
	// delta tells whether profiles of a type may be merged. It is nil unless profiles are.
	delta func(typ, unit string) bool
	// tracks says that repeated profiles are dropped, so that it matters which ones arrive.
	tracks    bool
	telemetry *telemetry
	logger    *zap.Logger
	// slots bounds how many batches are worked on at a time, and so the memory that this takes.
	slots chan struct{}
}

func newBatching(set processor.Settings, cfg *Config, next xconsumer.Profiles, telemetry *telemetry) *batching {
	options := cfg.options()
	// What is broken was found before it was held, if it was to be refused or left alone.
	options.OnInvalid = dedup.DropProfile
	b := &batching{
		cfg:       *cfg.Batch.Get(),
		core:      dedup.New(options),
		tracks:    cfg.DropRepeated.HasValue(),
		telemetry: telemetry,
		logger:    set.Logger,
		slots:     make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	if section := cfg.MergeProfiles.Get(); section != nil {
		b.delta = section.delta
	}
	b.batches = newBatches(b.cfg, b.flush)
	b.deliverer = deliverer{
		retry:     b.cfg.RetryConfig,
		next:      next,
		logger:    set.Logger,
		telemetry: telemetry,
		stopping:  b.batches.stopping,
	}
	return b
}

// hold adds a message to the batch of its tenant.
func (d *deduplicator) hold(ctx context.Context, m incoming) error {
	if m.profiles.ProfileCount() == 0 {
		m.claim.Settle(recent.None)
		d.telemetry.saved(ctx, m.content.bytes)
		return nil
	}
	pd := ownCopy(m.profiles)
	// A batch outlives the call of each of its messages.
	err := d.batching.batches.add(originOf(ctx, d.batching.cfg.MetadataKeys), message{ //nolint:contextcheck // see above
		profiles: pd,
		claim:    m.claim,
		bytes:    m.content.bytes,
		samples:  pd.SampleCount(),
		memory:   memoryOf(pd),
	})
	if reason := (*refusal)(nil); errors.As(err, &reason) {
		m.claim.Settle(recent.None)
		d.telemetry.refused(ctx, reason.reason)
	}
	return err
}

// flush passes a batch on, in as many messages as it needs.
func (b *batching) flush(ctx context.Context, due *batch) {
	b.slots <- struct{}{}
	one := b.join(ctx, due)
	parts := dedup.Split(one.profiles, b.cfg.MaxSamples, b.cfg.MaxBytes)
	<-b.slots

	contents, memory := make([]content, len(parts)), int64(0)
	samples, bytes := 0, 0
	for i, part := range parts {
		contents[i] = contentOf(part)
		samples += contents[i].samples
		bytes += contents[i].bytes
		memory += memoryOf(part)
	}
	b.batches.reduce(due, memory)
	b.telemetry.flushed(ctx, due.trigger, len(due.messages), samples, bytes)
	b.telemetry.saved(ctx, due.bytes-bytes)

	lost := make([]bool, len(parts))
	for i, part := range parts {
		parts[i] = pprofile.Profiles{}
		if contents[i].profiles > 0 {
			lost[i] = !b.deliver(ctx, part, contents[i])
		}
	}
	arrived := one.arrived(contents, lost)
	for _, m := range due.messages {
		m.claim.Settle(arrived)
	}
}

// deliver passes a message on and tells whether it arrived.
func (b *batching) deliver(ctx context.Context, pd pprofile.Profiles, c content) bool {
	lost := b.deliverer.deliver(ctx, pd)
	if lost == nil {
		b.telemetry.outgoing(ctx, c)
		return true
	}
	profiles, samples := lost.rest.ProfileCount(), lost.rest.SampleCount()
	b.telemetry.lost(ctx, lost.reason, profiles, samples)
	b.logger.Error("Profiles are lost. The next component did not take them.",
		zap.Int("profiles", profiles), zap.Int("samples", samples), zap.String("reason", lost.reason), zap.Error(lost.err))
	return false
}

// join makes one message of a batch.
func (b *batching) join(ctx context.Context, due *batch) joined {
	begin := time.Now()
	messages := make([]pprofile.Profiles, len(due.messages))
	for i := range due.messages {
		messages[i] = due.messages[i].profiles
		// What is joined is to be free when it is not needed any more.
		due.messages[i].profiles = pprofile.Profiles{}
	}
	// No error: that is for messages that are to be refused.
	pd, stats, _ := b.core.Deduplicate(dedup.Join(messages))
	one := joined{profiles: pd}
	if b.tracks {
		one.places = placesOf(due.tenant.key, pd)
	}
	if b.delta != nil {
		if merged := dedup.MergeProfiles(pd, b.delta); merged > 0 {
			one.merged = true
			b.telemetry.merged(ctx, merged)
			var again dedup.Stats
			one.profiles, again, _ = b.core.Deduplicate(pd)
			stats.MixedShapes = again.MixedShapes
			stats.ZeroSamples += again.ZeroSamples
		}
	}
	b.telemetry.deduplicated(ctx, &stats, time.Since(begin))
	return one
}

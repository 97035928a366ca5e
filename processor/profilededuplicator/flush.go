// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/pref"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// flush joins the messages of a batch and passes the result to the next consumer, as one message or as several within the
// limits. arrived reports whether a profile was delivered, results has the result of each message.
func (b *batching) flush(ctx context.Context, due *batch) (arrived func(profileID) bool, results []error) {
	b.slots <- struct{}{}
	whole := b.join(ctx, due)
	<-b.slots
	defer pref.UnrefProfiles(whole.profiles)

	next := b.next
	samples, bytes := 0, 0
	var lost []lostPart
	send := func(part dedup.Part, c content) {
		samples += c.samples
		bytes += c.bytes
		if b.cfg.MaxBytes > 0 && c.bytes > b.cfg.MaxBytes {
			b.oversized(ctx, c.bytes)
		}
		if c.profiles == 0 {
			return
		}
		if err := b.deliver(ctx, next, part.Profiles, c); err != nil {
			lost = append(lost, lostPart{part.First, part.Last, err})
		}
	}
	held, all := dictionary.MessageMemory(whole.profiles), contentOf(whole.profiles)
	copies := int64(0)
	if b.copies() {
		copies = 1
	}
	limits := dedup.SplitLimits{MaxSamples: b.cfg.MaxSamples, MaxBytes: b.cfg.MaxBytes}
	if limits.Allow(all.samples, all.bytes) {
		due.reservation.Shrink(memory.MessageFactor * held)
		send(dedup.Part{Profiles: whole.profiles, Last: max(all.profiles-1, 0)}, all)
	} else {
		due.reservation.Shrink((memory.MessageFactor + copies) * held)
		next = memory.Parts{Profiles: next, Kept: (1 + copies) * held}
		dedup.Split(whole.profiles, limits, func(part dedup.Part) {
			send(part, contentOf(part.Profiles))
		})
	}
	b.telemetry.flushed(ctx, due.trigger, len(due.messages), samples, bytes)
	b.telemetry.saved(ctx, due.bytes-bytes)
	return whole.arrived(lost), whole.results(len(due.messages), lost)
}

// oversized counts a message that is passed on although it exceeds max_bytes. It logs the first one.
func (b *batching) oversized(ctx context.Context, bytes int) {
	b.telemetry.oversized(ctx)
	b.warnOnce.Do(func() {
		b.logger.Warn("Passing on a message above batch::max_bytes: smaller parts would repeat too much of the dictionary. This is logged once; the metric oversized_messages counts all.",
			zap.Int("bytes", bytes), zap.Int("max_bytes", b.cfg.MaxBytes))
	})
}

// deliver passes a message to the next consumer. If the senders do not wait for the result, it logs and counts a loss.
func (b *batching) deliver(ctx context.Context, next xconsumer.Profiles, pd pprofile.Profiles, c content) error {
	lost := b.passOn(ctx, next, pd)
	if lost == nil {
		b.telemetry.outgoing(ctx, c)
		return nil
	}
	if !b.cfg.WaitForResult {
		b.telemetry.lost(ctx, lost.reason, lost.profiles, lost.samples)
		b.logger.Error("Lost profiles: the next component did not accept them.", zap.Int("profiles", lost.profiles),
			zap.Int("samples", lost.samples), zap.String("reason", lost.reason), zap.Error(lost.err))
	}
	return lost.err
}

// join makes one canonical message of the messages of a batch.
func (b *batching) join(ctx context.Context, due *batch) joined {
	begin := time.Now()
	messages := make([]pprofile.Profiles, len(due.messages))
	counts := make([]int, len(due.messages))
	for i := range due.messages {
		messages[i] = due.messages[i].profiles
		counts[i] = messages[i].ProfileCount()
		// Without this reference, the memory of the message can be freed as soon as possible.
		due.messages[i].profiles = pprofile.Profiles{}
	}
	pd := dedup.Join(messages)
	for _, moved := range messages[1:] {
		pref.UnrefProfiles(moved)
	}
	var sources map[pprofile.Profile]int
	if b.cfg.WaitForResult {
		sources = sourcesOf(pd, counts)
	}
	// The error is always nil here: only on_invalid: reject returns one.
	pd, stats, _ := b.core.Deduplicate(pd)
	whole := joined{profiles: pd, sources: inOrder(pd, sources)}
	if b.tracksIDs {
		whole.ids = idsOf(due.tenant.key, pd)
	}
	if b.delta != nil {
		if merged := dedup.MergeProfiles(pd, b.delta); merged > 0 {
			whole.merged = true
			b.telemetry.merged(ctx, merged)
			var again dedup.Stats
			whole.profiles, again, _ = b.core.Deduplicate(pd)
			stats.MixedShapes = again.MixedShapes
			stats.ZeroSamples += again.ZeroSamples
		}
	}
	b.telemetry.deduplicated(ctx, &stats, time.Since(begin))
	return whole
}

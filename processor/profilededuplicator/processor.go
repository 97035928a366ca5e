// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/xprocessor"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/otlpstatus"
)

// maxMessageBytes limits the time to process a message. Many attributes can share one long string: that needs little memory,
// but each reader of the message reads the string many times.
const maxMessageBytes = 512 << 20

// writtenFactor is the reservation of a message as a multiple of its size in protobuf: a queue on disk writes the whole, and copies it
// twice. It decides only for messages that are mostly long texts: others need more for themselves.
const writtenFactor = 3

// deduplicator is the processor. Without batching it is synchronous: an error of the next consumer goes to the caller.
type deduplicator struct {
	core      *dedup.Deduplicator
	onInvalid dedup.OnInvalid
	next      xconsumer.Profiles
	telemetry *telemetry
	// perEvent is sample_shape: per_event.
	perEvent bool
	// groupKeys is group_by_attributes.
	groupKeys []string
	budget    *memory.Budget
	// repeated is nil unless repeated profiles are dropped.
	repeated *repeated
	// batching is nil unless messages are joined.
	batching *batching
}

var _ xprocessor.Profiles = (*deduplicator)(nil)

func newDeduplicator(set processor.Settings, cfg *Config, next xconsumer.Profiles) (*deduplicator, error) {
	telemetry, err := newTelemetry(set)
	if err != nil {
		return nil, err
	}
	d := &deduplicator{
		core:      dedup.New(cfg.options()),
		onInvalid: cfg.OnInvalid,
		next:      next,
		telemetry: telemetry,
		perEvent:  cfg.SampleShape == dedup.ShapePerEvent,
		groupKeys: cfg.GroupByAttributes,
	}
	if section := cfg.DropRepeated.Get(); section != nil {
		ids := newDeliveredIDs(section.TTL, section.MaxEntries, telemetry.evicted)
		d.repeated = &repeated{ids: ids, keys: cfg.repeatedKeys()}
		if err := telemetry.observeIDs(ids); err != nil {
			return nil, err
		}
	}
	if cfg.Batch.HasValue() {
		d.batching = newBatching(set, cfg, next, telemetry)
		if err := telemetry.observeBatches(d.batching); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// heldPart: the held messages of a batching deduplicator may have one part in heldPart of the budget.
const heldPart = 2

// Start starts no goroutine: timers run only while messages are held.
func (d *deduplicator) Start(_ context.Context, host component.Host) (err error) {
	if d.budget, err = memory.Of(host); err != nil || d.batching == nil {
		return err
	}
	held := d.budget.Size() / heldPart
	if most := d.batching.cfg.MaxHeldBytes; most > 0 {
		held = memory.MessageFactor * min(held/memory.MessageFactor, most)
	}
	d.batching.held.Limit(d.budget, held)
	return nil
}

// Shutdown flushes the held messages, until ctx ends.
func (d *deduplicator) Shutdown(ctx context.Context) error {
	var err error
	if d.batching != nil {
		err = d.batching.stop(ctx)
	}
	d.telemetry.builder.Shutdown()
	return err
}

// Capabilities reports that ConsumeProfiles changes messages.
func (d *deduplicator) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// ConsumeProfiles deduplicates a message and passes it on, or holds it for a batch.
func (d *deduplicator) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	if ctx.Err() != nil { // A receiver that stops passes on what it has. Its records come again.
		return fmt.Errorf("cannot accept a message: %w", context.Cause(ctx))
	}
	pd = dedup.ResolveReferences(pd)
	m := incoming{profiles: pd, content: contentOf(pd)}
	d.telemetry.incoming(ctx, m.content)
	if m.content.bytes > maxMessageBytes {
		return d.refuse(ctx, m, &refusal{refusedTooLarge, otlpstatus.BadRequest(
			"cannot accept a message of %d bytes in protobuf, at most %d are allowed", m.content.bytes, maxMessageBytes)})
	}
	ctx, reservation, err := d.budget.Message(ctx, pd)
	if err != nil {
		return d.refuse(ctx, m, refusalOf(err))
	}
	defer reservation.Release()
	if err := d.group(ctx, &m); err != nil {
		return d.refuse(ctx, m, err)
	}
	if d.repeated != nil {
		dropped, err := d.repeated.filter(ctx, &m)
		if err != nil {
			d.telemetry.refused(ctx, refusedInFlight)
			return err
		}
		d.telemetry.repeated(ctx, dropped)
	}
	if d.batching != nil && d.onInvalid == dedup.DropProfile {
		return d.hold(ctx, m)
	}
	if err := d.grow(ctx, d.eventsMemory(m.profiles)); err != nil {
		return d.refuse(ctx, m, err)
	}
	// The message is checked before it is held, since the caller may not wait for the result of the batch.
	stats, err := d.deduplicate(ctx, &m)
	if err != nil {
		return d.refuse(ctx, m, &refusal{refusedInvalid, otlpstatus.BadRequest("%w", err)})
	}
	if d.batching != nil && !broken(&stats) {
		return d.hold(ctx, m)
	}
	return d.pass(ctx, m, &stats)
}

// grow adds memory for copies to that of a message. The error is a *refusal.
func (d *deduplicator) grow(ctx context.Context, bytes int64) error {
	message := memory.FromContext(ctx)
	return refusalOf(message.Grow(ctx, message.Bytes()+bytes))
}

// deduplicate makes a message canonical.
func (d *deduplicator) deduplicate(ctx context.Context, m *incoming) (stats dedup.Stats, err error) {
	begin := time.Now()
	m.profiles, stats, err = d.core.Deduplicate(m.profiles)
	m.deduplicated = stats.Changed
	d.telemetry.deduplicated(ctx, &stats, time.Since(begin))
	return stats, err
}

// pass passes a message to the next consumer while the caller waits.
func (d *deduplicator) pass(ctx context.Context, m incoming, stats *dedup.Stats) error {
	// After a delivery, the claim is settled below. Then this second call does nothing.
	defer m.claim.settle(noneDelivered)
	out := m.outgoing(stats)
	if err := memory.FromContext(ctx).Grow(ctx, writtenFactor*int64(out.bytes)); err != nil {
		return d.refuse(ctx, m, refusalOf(err))
	}
	arrived := allDelivered
	if m.claim != nil && broken(stats) {
		arrived = d.repeated.among(ctx, m.profiles)
	}
	if out.profiles > 0 {
		if err := d.next.ConsumeProfiles(ctx, m.profiles); err != nil {
			return err
		}
		d.telemetry.outgoing(ctx, out)
	}
	m.claim.settle(arrived)
	d.telemetry.saved(ctx, m.content.bytes-out.bytes)
	return nil
}

// broken reports whether a message had profiles that violate the format.
func broken(stats *dedup.Stats) bool {
	for _, n := range stats.Invalid {
		if n > 0 {
			return true
		}
	}
	return false
}

var (
	errStopped   = errors.New("cannot hold profiles: the processor is shutting down")
	errAbandoned = errors.New("cannot tell whether profiles were delivered: the next consumer did not return before the end of the shutdown")
)

// stop makes add refuse new messages, and flushes the held ones. If ctx ends before, it cancels the flushes.
func (b *batching) stop(ctx context.Context) error {
	b.mu.Lock()
	if !b.stopped {
		b.stopped = true
		close(b.stopping)
		b.closeAll(triggerShutdown) //nolint:contextcheck // a flush outlives its caller, and stop ends it below
	}
	b.mu.Unlock()
	defer b.cancel()

	done := make(chan struct{})
	go func() {
		defer close(done)
		b.running.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	b.cancel()
	select {
	case <-done:
		return fmt.Errorf("cannot flush all batches before the end of the shutdown: %w", context.Cause(ctx))
	case <-time.After(stopGrace):
		b.abandon()
		held, tenants := b.usage()
		return fmt.Errorf("cannot end the flushes of %d tenants, with %d bytes: the next consumer does not return: %w",
			tenants, held, context.Cause(ctx))
	}
}

// stopGrace is how long canceled flushes may take to return.
const stopGrace = time.Second

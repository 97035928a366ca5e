// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/xpdata/pref"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/otlpstatus"
)

// hold adds a message to the batch of its tenant, or returns a *refusal. If the sender must wait, hold returns the result. If ctx
// ends before, it returns an error, but the message is still passed on.
func (d *deduplicator) hold(ctx context.Context, m incoming) error {
	if m.profiles.ProfileCount() == 0 {
		m.claim.settle(noneDelivered)
		d.telemetry.saved(ctx, m.content.bytes)
		return nil
	}
	result, err := d.tryHold(ctx, m)
	if err != nil {
		return d.refuse(ctx, m, err)
	}
	if result == nil {
		m.claim.hold()
		return nil
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return fmt.Errorf("cannot wait for the delivery of a batch: %w", context.Cause(ctx))
	case <-d.batching.abandoned.Done():
		return errAbandoned
	}
}

// tryHold adds a message to a batch. result is nil unless the sender must wait.
func (d *deduplicator) tryHold(ctx context.Context, m incoming) (result chan error, err error) {
	cfg := &d.batching.cfg
	// A message whose bytes fit and can only have become fewer needs no check.
	if m.grouped || m.deduplicated || m.content.bytes > cfg.MaxBytes {
		if err := dedup.CheckSplit(m.profiles, cfg.MaxBytes); err != nil {
			return nil, &refusal{refusedTooLarge, otlpstatus.BadRequest("cannot split a message to batch::max_bytes: %w", err)}
		}
	}
	held := dictionary.MessageMemory(m.profiles) + d.eventsMemory(m.profiles)
	queued := int64(0)
	whole := memory.FromContext(ctx)
	if whole.Accepted() {
		queued = whole.Bytes() // The queue of another pipeline has a copy.
	}
	if err := whole.Grow(ctx, queued+memory.MessageFactor*held); err != nil {
		return nil, refusalOf(err)
	}
	if cfg.WaitForResult {
		result = make(chan error, 1)
	}
	pd := dedup.OwnCopy(m.profiles)
	pref.RefProfiles(pd)
	reservation := whole.Split(memory.MessageFactor * held)
	if !cfg.WaitForResult {
		reservation.Accept()
	}
	err = d.batching.add(originOf(ctx, cfg.MetadataKeys), message{ //nolint:contextcheck // a batch outlives the call of each of its messages
		profiles:    pd,
		claim:       m.claim,
		bytes:       m.content.bytes,
		samples:     pd.SampleCount(),
		memory:      held,
		reservation: reservation,
		result:      result,
	})
	if err != nil {
		pref.UnrefProfiles(pd)
		reservation.Release()
	}
	return result, err
}

// refuse counts a refused message.
func (d *deduplicator) refuse(ctx context.Context, m incoming, err error) error {
	m.claim.settle(noneDelivered)
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		d.telemetry.refused(ctx, refused.reason)
	}
	return err
}

// refusalOf returns the *refusal for an error of package memory.
func refusalOf(err error) error {
	if err == nil {
		return nil
	}
	reason := refusedBudget
	if errors.Is(err, memory.ErrTooLarge) {
		reason = refusedTooLarge
	}
	return &refusal{reason, memory.Refusal("cannot accept a message", err)}
}

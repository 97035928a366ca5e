// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/delta"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// deliverDifference passes on the difference from the profile before. The first profile is only kept. If the next consumer
// refuses a difference for now, the next difference includes it.
func (c *collector) deliverDifference(ctx context.Context, t *tracker, content []byte, source pprof.Source, m *requestMemory) (outcome string, err error) {
	payloads := c.in.newBatch(c.metrics, m)
	if err := payloads.add(ctx, payload{format: c.format, content: content, source: source}); err != nil {
		return outcomeOf(err), err
	}
	if len(payloads.messages) == 0 {
		return outcomeOK, nil
	}
	if err := c.reserve(ctx, t, payloads.samples, m); err != nil {
		return outcomeOf(err), err
	}
	applied := t.Apply(payloads.messages[0], time.Now())
	if err := c.remember(t); err != nil {
		return outcomeOf(err), err
	}
	if applied == delta.Baseline {
		t.commit()
		return outcomeBaseline, nil
	}
	err = c.deliverChanged(ctx, payloads)
	if err == nil || isAboutContent(err) {
		t.commit()
	}
	return outcomeOf(err), err
}

// deliverTargetDifference passes on a difference that the target has computed.
func (c *collector) deliverTargetDifference(ctx context.Context, content []byte, source pprof.Source, m *requestMemory) error {
	payloads := c.in.newBatch(c.metrics, m)
	if err := payloads.add(ctx, payload{format: c.format, content: content, source: source}); err != nil {
		return err
	}
	for _, message := range payloads.messages {
		delta.KeepCounters(message)
	}
	return c.deliverChanged(ctx, payloads)
}

// deliverChanged passes on profiles from which samples were removed.
func (c *collector) deliverChanged(ctx context.Context, payloads *batch) error {
	ctx = c.obs.StartProfilesOp(ctx)
	err := payloads.compact(ctx)
	samples := 0
	if err == nil {
		samples, err = payloads.deliver(ctx)
	}
	c.obs.EndProfilesOp(ctx, obsFormat, samples, err)
	return err
}

// reserve reserves memory for the counters of a profile, and twice as much in addition while they are compared.
func (c *collector) reserve(ctx context.Context, t *tracker, samples int, m *requestMemory) error {
	bytes := counterBytes * int64(samples)
	if err := m.Need(2 * bytes); err != nil {
		return err
	}
	t.next.Release()
	next, err := c.in.budget.Reserve(ctx, bytes)
	t.next = next
	return err
}

// remember counts the counters of the profile that was applied last, instead of those before. Where all trackers together have
// too many it refuses the profile, and the tracker keeps what it had.
func (c *collector) remember(t *tracker) error {
	counters := int64(t.Counters())
	t.next.Shrink(counterBytes * counters)
	more := counters - t.remembered
	total := c.remembered.Add(more)
	if b := c.in.budget; b != nil && more > 0 && total > b.Size()/rememberedPart/counterBytes {
		c.remembered.Add(-more)
		t.Discard()
		t.next.Release()
		return refusal.New(refusal.Memory, "its %d counters are too many beside %d others: to subtract them from the next ones, counters may have half of the "+
			"memory budget of %d bytes, %d bytes each", counters, total-counters, b.Size(), counterBytes)
	}
	t.remembered, t.sum = counters, &c.remembered
	return nil
}

const (
	counterBytes = delta.CounterBytes
	// rememberedPart is the part of the memory budget that remembered counters may take. The rest is for profiles that are
	// being processed: without it none could be, as counters are kept as long as their targets are there.
	rememberedPart = 2
)

// tracker is a [delta.Tracker] that holds memory, and must be released.
type tracker struct {
	delta.Tracker
	// known is for the counters that are subtracted, next for those that will be.
	known, next *memory.Reservation
	// remembered is how many counters it has added to the sum of all trackers.
	remembered int64
	sum        *atomic.Int64
}

func (t *tracker) commit() {
	t.Commit()
	t.known.Release()
	t.known, t.next = t.next, nil
}

// release forgets all counters and gives back their memory.
func (t *tracker) release() {
	t.known.Release()
	t.next.Release()
	if t.sum != nil {
		t.sum.Add(-t.remembered)
	}
	*t = tracker{}
}

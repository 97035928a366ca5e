// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"time"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
)

// deliverDifference passes on the difference from the profile before. The first profile is only kept. If the next consumer
// refuses a difference for now, the next difference includes it.
func (c *collector) deliverDifference(ctx context.Context, t *tracker, payloads *batch) (samples int, outcome string, err error) {
	if len(payloads.messages) == 0 {
		return 0, "", nil
	}
	if err := c.reserve(ctx, t, payloads); err != nil {
		return 0, "", err
	}
	result := t.apply(payloads.messages[0], time.Now())
	if err := c.remember(t); err != nil {
		return 0, "", err
	}
	if result == changeBaseline {
		t.commit()
		return 0, outcomeBaseline, nil
	}
	samples, err = payloads.deliverChanged(ctx)
	if err == nil || isAboutContent(err) {
		t.commit()
	}
	return samples, "", err
}

// deliverTargetDifference passes on a difference that the target has computed.
func deliverTargetDifference(ctx context.Context, payloads *batch) (samples int, err error) {
	for _, message := range payloads.messages {
		keepCounters(message)
	}
	return payloads.deliverChanged(ctx)
}

// reserve reserves memory for the counters of a profile, and twice as much in addition while they are compared.
func (c *collector) reserve(ctx context.Context, t *tracker, payloads *batch) error {
	bytes := counterBytes * int64(payloads.samples)
	if err := payloads.memory.Need(2 * bytes); err != nil {
		return err
	}
	t.discard()
	next, err := c.in.budget.Reserve(ctx, bytes)
	t.next.memory = next
	return err
}

// rememberedPart is the part of the memory budget that remembered counters may take. The rest is for profiles that are
// being processed: without it none could be, as counters are kept as long as their targets are there.
const rememberedPart = 2

// remember counts the counters of the profile that was applied last, instead of those before. Where all trackers together have
// too many it refuses the profile, and the tracker keeps what it had.
func (c *collector) remember(t *tracker) error {
	counters := t.next.counters.number()
	t.next.memory.Shrink(counterBytes * counters)
	more := counters - t.remembered
	total := c.remembered.Add(more)
	if b := c.in.budget; b != nil && more > 0 && total > b.Size()/rememberedPart/counterBytes {
		c.remembered.Add(-more)
		t.discard()
		return refusal.New(refusal.Memory, "its %d counters are too many beside %d others: to subtract them from the next ones, counters may have half of the "+
			"memory budget of %d bytes, %d bytes each", counters, total-counters, b.Size(), counterBytes)
	}
	t.remembered, t.sum = counters, &c.remembered
	return nil
}

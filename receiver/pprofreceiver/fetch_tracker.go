// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/delta"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
)

const (
	counterBytes = delta.CounterBytes
	// rememberedPart is the part of the memory budget that remembered counters may take. The rest is for profiles that are
	// being processed: without it none could be, as counters are kept as long as their targets are there.
	rememberedPart = 2
)

// tracker is a [delta.Tracker] whose memory is reserved. It must be released.
type tracker struct {
	delta.Tracker
	// known is for the counters that are subtracted, next for those that will be.
	known, next *memory.Reservation
	// remembered is how many counters are counted for it, owner is who counts them.
	remembered int64
	owner      *collector
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
	t.remembered, t.owner = counters, c
	return nil
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
	if t.owner != nil {
		t.owner.remembered.Add(-t.remembered)
	}
	*t = tracker{}
}

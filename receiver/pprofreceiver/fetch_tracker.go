// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"sync/atomic"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/delta"
)

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

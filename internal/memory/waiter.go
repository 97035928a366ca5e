// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"fmt"
	"slices"
)

// waiter is a reservation that waits for more bytes.
type waiter struct {
	*Reservation

	// more is the number of bytes that it waits for.
	more int64
	// done gets nil when the bytes are reserved, or an error.
	done chan error
}

// isNew reports whether the work on the request has not begun.
func (w *waiter) isNew() bool { return w.arriving || w.bytes == 0 }

// compareWaiters orders requests whose work has begun before new ones, since they release their bytes only when it goes on; then by age.
func compareWaiters(x, y *waiter) int {
	if x.isNew() != y.isNew() {
		if y.isNew() {
			return -1
		}
		return 1
	}
	return cmp.Compare(x.number, y.number)
}

// serve reserves free bytes for the waiters, in order. A waiter that does not fit holds back those behind it, so that the oldest is served at
// last; but ordinary ones pass large ones, and accepted ones all. The caller holds the lock.
func (b *Budget) serve() {
	largeWaits, ordinaryWaits := false, false
	b.waiters = slices.DeleteFunc(b.waiters, func(w *waiter) bool {
		total := w.bytes + w.more
		large := total > b.ordinary()
		heldBack := !w.accepted && (ordinaryWaits || large && largeWaits)
		if heldBack || b.used+w.more > b.limitOf(w.Reservation, total) {
			largeWaits = largeWaits || large && !w.accepted
			ordinaryWaits = ordinaryWaits || !large && !w.accepted
			return false
		}
		b.used += w.more
		b.peak = max(b.peak, b.used)
		w.bytes = total
		w.done <- nil
		return true
	})
	b.endDeadlock()
}

// endDeadlock refuses waiters until those that are left hold at most half of what is used. So they cannot all wait for each other, and the
// oldest gets its bytes. The caller holds the lock.
func (b *Budget) endDeadlock() {
	held := int64(0)
	for _, w := range b.waiters {
		held += w.bytes
	}
	b.refuseYoungest(held-b.used/2, 0)
}

// makeRoom refuses large waiters for an ordinary one that does not fit: what they hold may be in the part that is kept for ordinary ones.
func (b *Budget) makeRoom(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.bytes+w.more <= b.ordinary() {
		b.refuseYoungest(b.used+w.more-b.size, b.ordinary())
	}
}

// refuseYoungest refuses waiters of more than size bytes, the youngest first, until they hold this many together. The oldest one stays, and
// those that hold nothing or are accepted. The caller holds the lock.
func (b *Budget) refuseYoungest(bytes, size int64) {
	for i := len(b.waiters) - 1; i > 0 && bytes > 0; i-- {
		w := b.waiters[i]
		if w.accepted || w.bytes == 0 || w.bytes+w.more <= size {
			continue
		}
		bytes -= w.bytes
		b.waiters = slices.Delete(b.waiters, i, i+1)
		w.done <- fmt.Errorf("%w: %d more bytes are not free, and older requests wait; the budget has %d", ErrExhausted, w.more, b.size)
	}
}

// giveUp removes w from the queue and returns err, unless w has been served meanwhile.
func (b *Budget) giveUp(w *waiter, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiters, w); i >= 0 {
		b.waiters = slices.Delete(b.waiters, i, i+1)
		b.serve() // Waiters behind w may fit.
		return err
	}
	return <-w.done
}

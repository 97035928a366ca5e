// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

var (
	// ErrTooLarge says that a request needs more than the whole budget. It is permanent: the same request fails again.
	ErrTooLarge = errors.New("request exceeds the memory budget")
	// ErrExhausted says that other requests hold the budget. It is retryable: the same request may succeed later.
	ErrExhausted = errors.New("memory budget exhausted")
)

// Budget is a number of bytes that reservations share. Safe for concurrent use.
type Budget struct {
	size int64
	wait time.Duration

	mu   sync.Mutex
	used int64
	peak int64
	// growing is the queue of reservations that wait for more bytes, starting that of reservations that wait for their first.
	// Waiters that fit are served in order. growing is served first, because those reservations can only release their bytes
	// when their work continues. While growing is not empty, only small waiters in starting are served.
	growing, starting []*waiter
	// waitingBytes is the number of bytes that the reservations in growing hold.
	waitingBytes int64
	// preemptedBytes is the number of bytes that preempted reservations hold, see share.preempted. They will be free soon.
	preemptedBytes int64
}

const (
	// A reservation of at most one part in smallPart of the budget is small: that of an ordinary request.
	smallPart = 32
	// One part in keptPart of the budget is kept for small reservations. They are served while large ones hold the rest.
	keptPart = 8
)

// waiter is a reservation that waits for more bytes.
type waiter struct {
	share *share
	bytes int64
	// done gets nil when the bytes are reserved, or an error.
	done chan error
}

// New returns a budget of size bytes. A reservation waits at most wait for its bytes.
func New(size int64, wait time.Duration) *Budget { return &Budget{size: size, wait: wait} }

// Size returns the number of bytes that can be reserved.
func (b *Budget) Size() int64 { return b.size }

// Used returns the number of bytes that are reserved now, and the largest number so far.
func (b *Budget) Used() (used, peak int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.peak
}

// Reserve returns a new reservation of this many bytes, which the caller must release. It waits until the bytes are free, at most for
// the wait of the budget or until ctx ends. The error wraps [ErrTooLarge] or [ErrExhausted], or is the cause of ctx. [ErrExhausted] may
// come earlier, if all requests wait for each other.
func (b *Budget) Reserve(ctx context.Context, bytes int64) (*Reservation, error) {
	r := newReservation(b, 0)
	if err := r.Grow(ctx, bytes); err != nil {
		return nil, err
	}
	return r, nil
}

// await reserves more bytes for a share.
func (b *Budget) await(ctx context.Context, s *share, bytes int64) error {
	b.mu.Lock()
	if s.bytes+bytes > b.size {
		b.mu.Unlock()
		return fmt.Errorf("%w: it needs %d bytes, the budget has %d", ErrTooLarge, s.bytes+bytes, b.size)
	}
	b.clearPreempted(s)
	w := &waiter{share: s, bytes: bytes, done: make(chan error, 1)}
	if s.bytes > 0 {
		b.growing = append(b.growing, w)
		b.waitingBytes += s.bytes
	} else {
		b.starting = append(b.starting, w)
	}
	b.grant()
	b.mu.Unlock()
	select {
	case err := <-w.done:
		return err
	default:
	}
	timer := time.NewTimer(b.wait)
	defer timer.Stop()
	select {
	case err := <-w.done:
		return err
	case <-timer.C:
		return b.giveUp(w, fmt.Errorf("%w: %d bytes did not become free within %s, the budget has %d",
			ErrExhausted, bytes, b.wait, b.size))
	case <-ctx.Done():
		return b.giveUp(w, context.Cause(ctx))
	}
}

// giveUp removes w from its queue and returns err, unless w has been served meanwhile.
func (b *Budget) giveUp(w *waiter, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case err := <-w.done:
		return err
	default:
	}
	b.dequeue(w)
	b.grant() // Waiters behind w may need less.
	return err
}

// dequeue removes w from its queue. The caller holds the lock.
func (b *Budget) dequeue(w *waiter) {
	if i := slices.Index(b.growing, w); i >= 0 {
		b.growing = slices.Delete(b.growing, i, i+1)
		b.waitingBytes -= w.share.bytes
		return
	}
	if i := slices.Index(b.starting, w); i >= 0 {
		b.starting = slices.Delete(b.starting, i, i+1)
	}
}

// grant reserves free bytes for the waiters. The caller holds the lock.
func (b *Budget) grant() {
	b.growing = b.serve(b.growing, b.size)
	if len(b.growing) > 0 && b.waitingBytes == b.used {
		// Every reserved byte belongs to a reservation that waits for more. Without this error all would wait forever.
		w := b.growing[len(b.growing)-1]
		b.dequeue(w)
		w.done <- fmt.Errorf("%w: %d more bytes are not free, and all other requests wait as well; the budget has %d",
			ErrExhausted, w.bytes, b.size)
		return
	}
	limit := b.size
	if len(b.growing) > 0 {
		limit /= smallPart
	}
	b.starting = b.serve(b.starting, limit)
	b.preempt()
}

// preempt returns errors to large reservations that wait to grow, the last one first, until the bytes that they hold are enough
// for the small waiters. This stops no work: a request that waits does nothing else.
func (b *Budget) preempt() {
	missing := b.used - b.size - b.preemptedBytes
	for _, queue := range [][]*waiter{b.growing, b.starting} {
		for _, w := range queue {
			if b.isSmall(w) {
				missing += w.bytes
			}
		}
	}
	for i := len(b.growing) - 1; i >= 0 && missing > 0; i-- {
		w := b.growing[i]
		if b.isSmall(w) || w.share.accepted {
			continue
		}
		b.dequeue(w)
		w.share.preempted = true
		b.preemptedBytes += w.share.bytes
		missing -= w.share.bytes
		w.done <- fmt.Errorf("%w: %d more bytes are not free, and smaller requests wait; the budget has %d",
			ErrExhausted, w.bytes, b.size)
	}
}

// clearPreempted clears the preempted flag of s, because s releases bytes or waits again. The caller holds the lock.
func (b *Budget) clearPreempted(s *share) {
	if s.preempted {
		s.preempted = false
		b.preemptedBytes -= s.bytes
	}
}

// isSmall reports whether w will hold no more than an ordinary request, see smallPart.
func (b *Budget) isSmall(w *waiter) bool { return w.share.bytes+w.bytes <= b.size/smallPart }

// fits reports whether the bytes that w needs are free and not kept for small reservations. Nothing is kept while no other
// reservation holds bytes: then w may have the whole budget.
func (b *Budget) fits(w *waiter) bool {
	free := b.size - b.used
	if !b.isSmall(w) && !w.share.accepted && w.share.bytes < b.used {
		free -= b.size / keptPart
	}
	return w.bytes <= free
}

// serve reserves bytes, in order, for the waiters that fit and need at most limit bytes. It returns the others.
func (b *Budget) serve(queue []*waiter, limit int64) []*waiter {
	return slices.DeleteFunc(queue, func(w *waiter) bool {
		if w.bytes > limit || !b.fits(w) {
			return false
		}
		b.waitingBytes -= w.share.bytes
		b.reserve(w)
		return true
	})
}

func (b *Budget) reserve(w *waiter) {
	b.used += w.bytes
	b.peak = max(b.peak, b.used)
	w.share.bytes += w.bytes
	w.done <- nil
}

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
	// ErrExhausted says that others hold the budget. The same request may succeed later.
	ErrExhausted = errors.New("memory budget exhausted")
)

// Budget is a number of bytes that reservations share. Safe for concurrent use.
type Budget struct {
	size int64
	wait time.Duration

	mu   sync.Mutex
	used int64
	peak int64
	// growing wait for more bytes, starting wait for their first. Those that fit are served in order, growing before starting:
	// the bytes that they hold become free only after they have continued. Only a small first reservation is served while
	// others wait to grow.
	growing, starting []*waiter
	// waitingBytes is how many bytes the reservations in growing hold.
	waitingBytes int64
}

// smallPart: while others wait to grow, a new reservation may have one part in smallPart of the budget.
const smallPart = 64

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

// Used returns the number of reserved bytes, and the largest number so far.
func (b *Budget) Used() (used, peak int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.peak
}

// Reserve returns a new reservation, which must be released. It waits for the bytes at most for the wait of the budget, and
// until ctx ends. The error is [ErrTooLarge], [ErrExhausted] or that of ctx.
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
	b.leaveQueue(w)
	b.grant() // Those behind it may need less.
	return err
}

// leaveQueue removes w from its queue. The lock is held.
func (b *Budget) leaveQueue(w *waiter) {
	if i := slices.Index(b.growing, w); i >= 0 {
		b.growing = slices.Delete(b.growing, i, i+1)
		b.waitingBytes -= w.share.bytes
		return
	}
	if i := slices.Index(b.starting, w); i >= 0 {
		b.starting = slices.Delete(b.starting, i, i+1)
	}
}

// grant reserves free bytes for the waiters. The lock is held.
func (b *Budget) grant() {
	b.growing = b.serve(b.growing, b.size)
	if len(b.growing) > 0 && b.waitingBytes == b.used {
		// All reserved bytes belong to reservations that wait for more. The last of them gets an error.
		w := b.growing[len(b.growing)-1]
		b.leaveQueue(w)
		w.done <- fmt.Errorf("%w: %d bytes more are not free, and all others wait as well; the budget has %d",
			ErrExhausted, w.bytes, b.size)
		return
	}
	most := b.size
	if len(b.growing) > 0 {
		most /= smallPart
	}
	b.starting = b.serve(b.starting, most)
}

// serve reserves bytes for those in the queue that fit and need at most this many bytes, in order. It returns the others.
func (b *Budget) serve(queue []*waiter, most int64) []*waiter {
	return slices.DeleteFunc(queue, func(w *waiter) bool {
		if w.bytes > most || b.used+w.bytes > b.size {
			return false
		}
		b.waitingBytes -= w.share.bytes
		b.give(w)
		return true
	})
}

func (b *Budget) give(w *waiter) {
	b.used += w.bytes
	b.peak = max(b.peak, b.used)
	w.share.bytes += w.bytes
	w.done <- nil
}

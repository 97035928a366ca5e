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
	// growing wait for more than they hold, starting for their first bytes. Who fits is served, in order, and growing
	// before starting: what they hold is free only after they got on. Only a small start passes by those who grow.
	growing, starting []*waiter
	// waitingBytes is what the reservations in growing hold.
	waitingBytes int64
}

// smallPart is the part of a budget, one in so many, that a reservation may start with while others wait to grow.
const smallPart = 64

// waiter is a reservation that waits for more bytes.
type waiter struct {
	share *share
	bytes int64
	// done gets nil when the bytes are reserved, or the reason why they cannot be.
	done chan error
}

// New returns a budget of size bytes. A reservation waits at most wait for its bytes.
func New(size int64, wait time.Duration) *Budget { return &Budget{size: size, wait: wait} }

// Size returns the number of bytes that can be reserved.
func (b *Budget) Size() int64 { return b.size }

// Used returns the number of bytes that are reserved, and the largest number that ever was.
func (b *Budget) Used() (used, peak int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.peak
}

// Reserve returns a new reservation of bytes, which must be released. It waits for them, at most for the wait of the
// budget and until ctx ends. The error is [ErrTooLarge], [ErrExhausted] or that of ctx.
func (b *Budget) Reserve(ctx context.Context, bytes int64) (*Reservation, error) {
	r := newReservation(b, 0)
	if err := r.Grow(ctx, bytes); err != nil {
		return nil, err
	}
	return r, nil
}

// await reserves bytes more for a share.
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

// giveUp ends the waiting of w with err, unless it has ended.
func (b *Budget) giveUp(w *waiter, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case err := <-w.done:
		return err
	default:
	}
	b.leaveQueue(w)
	b.grant() // Others behind it may need less.
	return err
}

// leaveQueue takes w out of its queue. The lock is held.
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

// grant reserves what is free for those who wait. The lock is held.
func (b *Budget) grant() {
	b.growing = b.serve(b.growing, b.size)
	if len(b.growing) > 0 && b.waitingBytes == b.used {
		// All that is reserved belongs to reservations that wait for each other. The last one to come gives way.
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

// serve reserves for all in the queue that fit and want no more than most, in order, and returns the others.
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

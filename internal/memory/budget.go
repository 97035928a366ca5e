// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package memory limits the memory of all requests of the process together. docs/memory.md has the promises and the mechanism.
package memory // import "github.com/otelpprof/otelpprof/internal/memory"

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

var (
	// ErrTooLarge says that a request needs more than it can ever get. It is permanent: the same request fails again.
	ErrTooLarge = errors.New("request exceeds the memory budget")
	// ErrExhausted says that other requests hold the budget. It is retryable: the same request may succeed later.
	ErrExhausted = errors.New("memory budget exhausted")
	// ErrCanceled says that the context of the work has ended. It wraps the cause of the context.
	ErrCanceled = errors.New("the request was canceled")
)

func canceled(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ErrCanceled, context.Cause(ctx))
}

const (
	// A request that needs at most one part in ordinaryPart of the budget is ordinary. Others are large.
	ordinaryPart = 32
	// One that needs at most one part in smallPart of that is small, too.
	smallPart = 4
	// One part in keptPart of the budget is kept for ordinary requests. One part in smallKeptPart is kept for small ones.
	keptPart, smallKeptPart = 8, 16
)

// Budget is a number of bytes that reservations share. Safe for concurrent use. A component has none before its start: then
// Begin, Beside and Message have no limit.
type Budget struct {
	size int64
	wait time.Duration

	// start is the begin of the time of reservations.
	start time.Time

	mu   sync.Mutex
	used int64
	peak int64
	// small is the number of bytes of small requests.
	small int64
	// begun is the time at which the last reservation began. No two have the same.
	begun time.Duration
	// usesKept is the large accepted one that uses what is kept for ordinary requests. Several could wait for each other, and ordinary requests for
	// them.
	usesKept *Reservation
	// waiters are the reservations that wait for bytes, in the order in which they are served.
	waiters []*waiter
	// arrivals are the requests whose body is arriving, oldest first.
	arrivals []*Arrival

	// handed has the reservations of messages that were handed over.
	handed sync.Map // of weak.Pointer[byte] to *Reservation
}

// New returns a budget of size bytes. A reservation waits at most wait for its bytes.
func New(size int64, wait time.Duration) *Budget {
	return &Budget{size: size, wait: wait, start: time.Now()}
}

// Size returns the number of bytes that can be reserved.
func (b *Budget) Size() int64 { return b.size }

// ordinary returns the largest size of an ordinary request in bytes, with the sixteenth that its meter takes ahead. Large ones may hold all but
// the part that is kept for these.
func (b *Budget) ordinary() int64 { return b.size / ordinaryPart * 17 / 16 }

// Used returns the number of bytes that are reserved now, and the largest number so far.
func (b *Budget) Used() (used, peak int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.peak
}

// Begin returns a new reservation without any bytes, which the caller must release.
func (b *Budget) Begin() *Reservation {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun = max(b.begun+1, time.Since(b.start))
	return &Reservation{budget: b, order: b.begun, holders: 1}
}

// isSmall reports whether a request of so many bytes is small.
func (b *Budget) isSmall(bytes int64) bool { return bytes <= b.ordinary()/smallPart }

// fill returns up to how many bytes a part of the budget may be filled with a reservation of this size. The rest is kept for smaller ones.
func (b *Budget) fill(part, bytes int64) int64 {
	switch {
	case b.isSmall(bytes):
		return part
	case bytes <= b.ordinary():
		return part - part/smallKeptPart
	}
	return part - part/keptPart
}

// pressureInterval is how often a waiter tries to free memory, see [Budget.relieve], but at least once.
const pressureInterval = 25 * time.Millisecond

// block waits for the bytes of w.
func (b *Budget) block(ctx context.Context, w *waiter) error {
	timeout := time.NewTimer(b.wait)
	defer timeout.Stop()
	pressure := time.NewTicker(max(min(pressureInterval, b.wait/2), 1))
	defer pressure.Stop()
	overdue := time.After(b.wait * 3 / 4)
	for {
		select {
		case err := <-w.done:
			return err
		case <-overdue:
			b.prefer(w)
		case <-pressure.C:
			b.relieve(w)
		case <-timeout.C:
			return b.giveUp(w, fmt.Errorf("%w: %d bytes did not become free within %s, the budget has %d",
				ErrExhausted, w.more, b.wait, b.size))
		case <-ctx.Done():
			return b.giveUp(w, canceled(ctx))
		}
	}
}

// Share is the part of a budget that one purpose may have, such as a queue. It only counts: the bytes are reserved elsewhere. Fits needs a
// limit. Safe for concurrent use, but others may add bytes between Fits and Use.
type Share struct {
	budget *Budget
	size   int64
	used   atomic.Int64
}

// Limit sets the size of the share in bytes.
func (s *Share) Limit(budget *Budget, bytes int64) { s.budget, s.size = budget, bytes }

// Use adds bytes that are in use, or subtracts them if they are negative. It reports whether more than the share is in use then.
func (s *Share) Use(bytes int64) (exceeded bool) { return s.used.Add(bytes) > s.size }

// Used returns the number of bytes in use.
func (s *Share) Used() int64 { return s.used.Load() }

// Most returns how many bytes may be in use when so many are added. The rest is kept for ordinary requests.
func (s *Share) Most(bytes int64) int64 { return s.budget.fill(s.size, bytes) }

// Keeps reports whether a part is kept for requests of so many bytes: whether they are ordinary.
func (s *Share) Keeps(bytes int64) bool { return bytes <= s.budget.ordinary() }

// Fits reports whether so many bytes can be added.
func (s *Share) Fits(bytes int64) bool { return s.Used()+bytes <= s.Most(bytes) }

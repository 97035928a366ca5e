// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"runtime"
)

// Reservation is the part of a budget that one request holds. It is not safe for concurrent use. All sizes are in bytes. A nil
// reservation is valid and has no limit: its methods reserve nothing and succeed.
//
// Each reservation must be released. The garbage collector releases unreachable ones, so that a request that another
// component drops from a queue does not hold its bytes forever.
type Reservation struct{ *share }

// share is the content of a reservation. It is separate, because the cleanup needs it when the reservation is unreachable.
type share struct {
	budget *Budget
	// The lock of the budget guards the fields below.
	bytes int64
	// preempted reports whether Grow failed in favor of a smaller reservation, and nothing was released since.
	preempted bool
	// accepted is set by [Reservation.Accept].
	accepted bool
	// kept is set by [Reservation.Keep].
	kept int64
}

func newReservation(b *Budget, bytes int64) *Reservation {
	r := &Reservation{&share{budget: b, bytes: bytes}}
	runtime.AddCleanup(r, func(s *share) { s.shrink(0) }, r.share)
	return r
}

// Bytes returns the number of reserved bytes.
func (r *Reservation) Bytes() int64 {
	if r == nil {
		return 0
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	return r.bytes
}

// Grow increases the reservation to this total number of bytes, if it is smaller. It waits and fails as [Budget.Reserve] does. After
// an error, the reservation has its old size.
func (r *Reservation) Grow(ctx context.Context, bytes int64) error {
	if r == nil {
		return nil
	}
	more := bytes - r.Bytes()
	if more <= 0 {
		return nil
	}
	err := r.budget.await(ctx, r.share, more)
	runtime.KeepAlive(r)
	return err
}

// Accept marks the reservation as one for a message that was already accepted from its sender. It may then use the bytes that
// are kept for small reservations: otherwise the message could wait forever while batches and queues hold the rest.
func (r *Reservation) Accept() {
	if r != nil {
		r.budget.mu.Lock()
		defer r.budget.mu.Unlock()
		r.accepted = true
	}
}

// Shrink reduces the reservation to this total number of bytes, if it is larger.
func (r *Reservation) Shrink(bytes int64) {
	if r != nil {
		r.shrink(bytes)
	}
}

func (s *share) shrink(bytes int64) {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes >= s.bytes {
		return
	}
	b.clearPreempted(s)
	b.used -= s.bytes - bytes
	s.bytes = bytes
	b.grant()
}

// Release gives all bytes back. The reservation can be used again.
func (r *Reservation) Release() { r.Shrink(0) }

// Keep sets the number of bytes that [Reservation.Take] leaves: those that the request itself uses until its end.
func (r *Reservation) Keep(bytes int64) {
	if r != nil {
		r.budget.mu.Lock()
		defer r.budget.mu.Unlock()
		r.kept = bytes
	}
}

// Kept returns the number of bytes that Take leaves.
func (r *Reservation) Kept() int64 {
	if r == nil {
		return 0
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	return r.kept
}

// Take moves at most this many bytes to a new reservation of the same budget, for a consumer that keeps data of the request. It moves
// fewer if the reservation has fewer beside those that it keeps. The caller must release the new reservation.
func (r *Reservation) Take(bytes int64) *Reservation {
	if r == nil {
		return nil
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.budget.clearPreempted(r.share)
	taken := newReservation(r.budget, min(bytes, max(0, r.bytes-r.kept)))
	r.bytes -= taken.bytes
	return taken
}

// Add moves all bytes of another reservation of the same budget to this one, and leaves the other empty. If this one is nil, it
// releases the other.
func (r *Reservation) Add(other *Reservation) {
	if r == nil || other == nil {
		other.Release()
		return
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.budget.clearPreempted(r.share)
	r.budget.clearPreempted(other.share)
	r.bytes += other.bytes
	other.bytes = 0
}

type contextKey struct{}

// NewContext returns a context that carries the reservation of a request to the consumers that it calls.
func NewContext(ctx context.Context, r *Reservation) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the reservation in ctx, or nil.
func FromContext(ctx context.Context) *Reservation {
	r, _ := ctx.Value(contextKey{}).(*Reservation)
	return r
}

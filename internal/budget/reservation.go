// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"runtime"
)

// Reservation is the part of a budget that one request holds. It is not for concurrent use. A nil reservation is one
// without a bound.
//
// Each must be released. One that nobody refers to any more is released by the garbage collector, so that a request which
// is lost on its way, such as in the queue of somebody else, costs nothing for good.
type Reservation struct{ *share }

// share is what a reservation holds.
type share struct {
	budget *Budget
	// bytes, and whether its owner was told to give way and has not given anything back yet, are guarded by the lock of
	// the budget.
	bytes   int64
	leaving bool
}

func newReservation(b *Budget, bytes int64) *Reservation {
	r := &Reservation{&share{budget: b, bytes: bytes}}
	runtime.AddCleanup(r, func(s *share) { s.shrink(0) }, r.share)
	return r
}

// Bytes returns how much is reserved.
func (r *Reservation) Bytes() int64 {
	if r == nil {
		return 0
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	return r.bytes
}

// Grow makes the reservation one of at least so many bytes. It waits and fails as [Budget.Reserve] does; the reservation
// is then as it was.
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

// Shrink gives back what is above so many bytes.
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
	b.stay(s)
	b.used -= s.bytes - bytes
	s.bytes = bytes
	b.grant()
}

// Release gives all back. The reservation can be used again.
func (r *Reservation) Release() { r.Shrink(0) }

// Take moves at most so many bytes to a new reservation of the same budget, for somebody who holds on to what the
// request has made. The new one must be released.
func (r *Reservation) Take(bytes int64) *Reservation {
	if r == nil {
		return nil
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.budget.stay(r.share)
	taken := newReservation(r.budget, min(bytes, r.bytes))
	r.bytes -= taken.bytes
	return taken
}

// Add moves all that another reservation of the same budget holds to this one.
func (r *Reservation) Add(other *Reservation) {
	if r == nil || other == nil {
		other.Release()
		return
	}
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.budget.stay(r.share)
	r.budget.stay(other.share)
	r.bytes += other.bytes
	other.bytes = 0
}

type contextKey struct{}

// NewContext returns a context that carries the reservation of a request to the consumers that it calls.
func NewContext(ctx context.Context, r *Reservation) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the reservation of the request that ctx is of, nil if there is none.
func FromContext(ctx context.Context) *Reservation {
	r, _ := ctx.Value(contextKey{}).(*Reservation)
	return r
}

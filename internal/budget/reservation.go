// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import "context"

// Reservation is the part of a budget that one request holds. It is not for concurrent use. A nil reservation is one
// without a bound.
type Reservation struct {
	budget *Budget
	// bytes is what it holds. The lock of the budget guards it.
	bytes int64
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
	return r.budget.await(ctx, r, more)
}

// Shrink gives back what is above so many bytes.
func (r *Reservation) Shrink(bytes int64) {
	if r == nil {
		return
	}
	b := r.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes >= r.bytes {
		return
	}
	b.used -= r.bytes - bytes
	r.bytes = bytes
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
	taken := &Reservation{budget: r.budget, bytes: min(bytes, r.bytes)}
	r.bytes -= taken.bytes
	return taken
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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// Reservation is the part of a budget that one request or message holds. All sizes are in bytes. A nil reservation is valid and has
// no limit: its methods reserve nothing and succeed. Safe for concurrent use, but only one holder at a time may call Grow.
type Reservation struct {
	budget *Budget
	// order is when it began, since the start of the budget. It orders reservations by age.
	order time.Duration
	// message is the reservation of the message beside which this one is for work, or nil.
	message *Reservation
	// lent is the number of bytes that came from message.
	lent int64

	// The lock of the budget guards the fields below.

	// arriving reports whether the body of the request is still arriving, accepted whether the sender of the message has its answer.
	arriving, accepted bool
	// split reports whether bytes were split off, outgrown whether the request does not count as small any more, and retained whether it is that
	// of a message which was passed on.
	split, outgrown, retained bool

	bytes int64
	// holders is the number of calls of Release until the bytes are free.
	holders int
}

// locked calls f with the lock of the budget, unless r is nil.
func (r *Reservation) locked(f func()) {
	if r != nil {
		r.budget.mu.Lock()
		defer r.budget.mu.Unlock()
		f()
	}
}

// Bytes returns the number of reserved bytes.
func (r *Reservation) Bytes() (bytes int64) {
	r.locked(func() { bytes = r.bytes })
	return bytes
}

// Grow increases the reservation to this total number of bytes, if it is smaller. It waits until they are free, at most for the wait of the
// budget or until ctx ends. The error wraps [ErrTooLarge], [ErrExhausted] or [ErrCanceled]. After it, the reservation has its old size.
func (r *Reservation) Grow(ctx context.Context, total int64) error {
	if r == nil {
		return nil
	}
	b := r.budget
	b.mu.Lock()
	more := total - r.bytes
	if more <= 0 {
		b.mu.Unlock()
		return nil
	}
	if needed, limit := r.held()+more, r.limitOf(r.held()+more); needed > limit {
		b.mu.Unlock()
		return fmt.Errorf("%w: it needs %d bytes, a request may have %d", ErrTooLarge, needed, limit)
	}
	if !b.isSmall(total) {
		r.outgrow()
	}
	if len(b.waiters) == 0 && b.used+more <= b.fill(b.size, total) {
		r.set(total) // Nobody waits, and it fits beside what is kept for smaller ones.
		b.mu.Unlock()
		return nil
	}
	w := &waiter{Reservation: r, more: more, done: make(chan error, 1)}
	b.insert(w)
	b.serve()
	b.limitWaiters()
	b.mu.Unlock()
	select {
	case err := <-w.done:
		return err
	default:
		return b.block(ctx, w)
	}
}

// Meter returns a meter of work that uses this many bytes of the reservation already. It grows the reservation. The work ends with ctx.
func (r *Reservation) Meter(ctx context.Context, used int64) *meter.Meter {
	return meter.New(used, func(total int64) error {
		if ctx.Err() != nil {
			return canceled(ctx)
		}
		return r.Grow(ctx, total)
	})
}

// Add adds bytes that are allocated whether or not they fit, or subtracts them if they are negative.
func (r *Reservation) Add(bytes int64) {
	r.locked(func() { r.change(r.bytes + bytes) })
}

// Shrink reduces the reservation to this total number of bytes, if it is larger.
func (r *Reservation) Shrink(total int64) { r.locked(func() { r.change(min(total, r.bytes)) }) }

// change sets the number of bytes, and serves those that wait. The caller holds the lock.
func (r *Reservation) change(bytes int64) {
	r.set(bytes)
	r.budget.serve()
}

// set changes the number of bytes. The caller holds the lock.
func (r *Reservation) set(bytes int64) {
	b := r.budget
	if bytes < r.bytes && b.usesKept == r {
		b.usesKept = nil
	}
	b.used += bytes - r.bytes
	b.peak = max(b.peak, b.used)
	b.small -= r.small()
	r.bytes = bytes
	b.small += r.small()
}

// small returns the number of bytes if they are those of a small request. The caller holds the lock.
func (r *Reservation) small() int64 {
	if r.accepted || r.outgrown || !r.budget.isSmall(r.bytes) {
		return 0
	}
	return r.bytes
}

// outgrow says that the request is not small: it has little yet, but waits for much, or is accepted. The caller holds the lock.
func (r *Reservation) outgrow() {
	r.budget.small -= r.small()
	r.outgrown = true
}

// Resize changes the reservation to this total number of bytes. It waits and fails as [Reservation.Grow] does.
func (r *Reservation) Resize(ctx context.Context, total int64) error {
	r.Shrink(total)
	return r.Grow(ctx, total)
}

// Split moves at most this many bytes to a new reservation, for a message that outlives its request. The caller must release it.
func (r *Reservation) Split(bytes int64) (part *Reservation) {
	r.locked(func() { part, r.split = r.part(bytes), true })
	return part
}

// Work returns a new reservation for work on the message that r is for, or for a part of it. It needs its bytes beside those of r, but
// begins with at most so many of them. They return to r at the end, if r is still held. The caller must release it.
func (r *Reservation) Work(bytes int64) (work *Reservation) {
	r.locked(func() {
		work = r.part(bytes)
		work.message, work.lent = r, work.bytes
	})
	return work
}

// part moves at most so many bytes to a new one. The caller holds the lock.
func (r *Reservation) part(bytes int64) *Reservation {
	bytes = max(min(bytes, r.bytes), 0)
	r.set(r.bytes - bytes)
	part := &Reservation{budget: r.budget, order: r.order, accepted: r.accepted, holders: 1}
	part.set(bytes)
	return part
}

// Accepted reports whether Accept was called: then a queue can have retained r.
func (r *Reservation) Accepted() (accepted bool) {
	r.locked(func() { accepted = r.accepted })
	return accepted
}

// held returns the bytes that are not free before the work of r goes on. The caller holds the lock.
func (r *Reservation) held() int64 {
	held := r.bytes
	for m := r.message; m != nil; m = m.message {
		held += m.bytes
		if m.accepted { // Then what it is a part of goes on without it.
			break
		}
	}
	return held
}

// isWork reports whether r is for work that ends soon, and not for a message that a queue can hold. The caller holds the lock.
func (r *Reservation) isWork() bool { return r.message != nil && !r.retained }

// limitOf returns up to how many bytes the budget may be filled when r has this many. The caller holds the lock.
func (r *Reservation) limitOf(bytes int64) int64 {
	b := r.budget
	if r.accepted {
		return b.size
	}
	return b.fill(b.size, bytes)
}

// Join moves all bytes of another reservation of the same budget to this one, leaves the other empty, and returns this one. Without this
// one, it returns the other.
func (r *Reservation) Join(other *Reservation) *Reservation {
	if r == nil {
		return other
	}
	if other != nil {
		r.locked(func() {
			moved := other.bytes
			other.set(0)
			r.set(r.bytes + moved)
		})
	}
	return r
}

// WriteAnswer writes an answer to a request with this reservation. Its client may read it slowly while nobody waits for memory. Otherwise it
// is ended as a request that arrives too slowly, see stallTime: abort makes the pending write fail. abort must not block.
func (r *Reservation) WriteAnswer(w io.Writer, answer []byte, abort func()) (written int, err error) {
	if r == nil {
		return w.Write(answer)
	}
	a := r.budget.newArrival(r, abort, nil)
	defer a.End()
	for part := range slices.Chunk(answer, progressBytes) {
		a.progress()
		n, err := w.Write(part)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Accept marks the reservation as that of a message whose sender may have its answer, or of bytes that cannot be refused. It may use the whole
// budget from then on, and never gives up in favor of others. It returns r.
func (r *Reservation) Accept() *Reservation {
	r.locked(func() {
		r.outgrow()
		r.accepted = true
		r.budget.serve() // It leaves its part of what is kept for small requests.
	})
	return r
}

// Retain adds a holder: the bytes stay reserved until each holder has called Release. It returns r.
func (r *Reservation) Retain() *Reservation {
	r.locked(func() { r.holders, r.retained = r.holders+1, true })
	return r
}

// Release ends the use by one holder. The last one gives all bytes back.
func (r *Reservation) Release() {
	r.locked(func() {
		if r.holders--; r.holders > 0 {
			return
		}
		if r.message != nil && r.message.holders > 0 {
			back := min(r.lent, r.bytes)
			r.set(r.bytes - back)
			r.message.set(r.message.bytes + back)
		}
		r.change(0)
	})
}

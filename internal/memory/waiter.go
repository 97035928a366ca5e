// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// waiter is a reservation that waits for more bytes.
type waiter struct {
	*Reservation

	// more is the number of bytes that it waits for.
	more int64
	// done gets nil when the bytes are reserved, or an error.
	done chan error
	// preferred reports whether it counts as ordinary, see [Budget.prefer].
	preferred bool
}

// total is the number of bytes that it has then.
func (w *waiter) total() int64 { return w.bytes + w.more }

// missing returns how many bytes are not free yet of those that it needs. behind reports whether a waiter before it is not served. Of large accepted
// ones, one uses what is kept for ordinary requests, until it gives bytes back; work goes before a message, which can be held for a long time. The
// caller holds the lock.
func (w *waiter) missing(behind bool) int64 {
	b, limit := w.budget, w.limitOf(w.total())
	mayUseKept := b.usesKept == w.Reservation || !behind && (b.usesKept == nil || w.isWork() && !b.usesKept.isWork())
	if kept := b.fill(b.size, w.total()); !mayUseKept && w.total() > b.ordinary() && w.held()+w.more <= kept {
		limit = kept
	}
	return b.used + w.more - limit
}

// isNew reports whether the work on the request has not begun.
func (w *waiter) isNew() bool { return w.arriving || w.held() == 0 }

// compareWaiters orders ordinary requests before large ones, and large ones whose work has begun before new ones, since they release their bytes
// only when it goes on; then by age. The larger an ordinary request is, the younger it counts, the largest by three quarters of the wait: so
// many of them do not keep a small one waiting, nor many small ones a large one.
func compareWaiters(x, y *waiter) int {
	return cmp.Or(
		cmp.Compare(x.class(), y.class()),
		cmp.Compare(x.rank(), y.rank()),
	)
}

// class is 0 for ordinary requests, 1 for large ones whose work has begun, and 2 for new ones.
func (w *waiter) class() int {
	switch {
	case w.preferred, w.total() <= w.budget.ordinary():
		return 0
	case !w.isNew():
		return 1
	}
	return 2
}

// rank is the time by which requests of a class are ordered.
func (w *waiter) rank() time.Duration {
	b := w.budget
	size := min(float64(w.total())/float64(b.ordinary()), 1)
	return w.order + time.Duration(size*float64(b.wait*3/4))
}

// prefer lets an accepted waiter count as ordinary for the rest of its wait, so that it holds others back: its message would be lost in the end if
// they took the memory all the time.
func (b *Budget) prefer(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiters, w)
	if i < 0 || !w.accepted {
		return
	}
	w.preferred = true
	b.waiters = slices.Delete(b.waiters, i, i+1)
	b.insert(w)
	b.serve()
}

// insert adds a waiter in its order. The caller holds the lock.
func (b *Budget) insert(w *waiter) {
	i, _ := slices.BinarySearchFunc(b.waiters, w, compareWaiters)
	b.waiters = slices.Insert(b.waiters, i, w)
}

// serve reserves free bytes for the waiters, in order. A waiter that does not fit holds back those behind it, so that it is served at last; but
// accepted ones pass, and small ones while they fit into what is kept for them. Large accepted ones hold back nobody. The caller holds the lock.
func (b *Budget) serve() {
	full, large := false, b.fill(b.size, b.size)
	if b.used <= large {
		b.usesKept = nil
	}
	if len(b.waiters) == 0 {
		return
	}
	b.waiters = slices.DeleteFunc(b.waiters, func(w *waiter) bool {
		if full && !w.accepted && !w.fitsSmall() || w.missing(full) > 0 {
			full = full || !w.accepted || w.class() == 0
			return false
		}
		w.set(w.total())
		if w.accepted && b.used > large && w.bytes > b.ordinary() {
			b.usesKept = w.Reservation
		}
		w.done <- nil
		return true
	})
	b.endDeadlock()
}

// fitsSmall reports whether w fits into what is kept for small requests.
func (w *waiter) fitsSmall() bool {
	b := w.budget
	return b.isSmall(w.total()) && b.small+w.more <= b.size/smallKeptPart
}

// maxWaiters is how many requests may wait that have nothing reserved: what each takes by itself, such as a stream of HTTP/2, counts nowhere.
const maxWaiters = 1000

// limitWaiters refuses the last of the requests that have nothing reserved if there are too many. The caller holds the lock.
func (b *Budget) limitWaiters() {
	waiting, last := 0, 0
	for i, w := range b.waiters {
		if w.held() == 0 && !w.accepted {
			waiting, last = waiting+1, i
		}
	}
	if waiting > maxWaiters {
		w := b.waiters[last]
		b.waiters = slices.Delete(b.waiters, last, last+1)
		w.done <- fmt.Errorf("%w: %d other requests wait", ErrExhausted, maxWaiters)
	}
}

// endDeadlock refuses waiters until those that are left hold at most half of what is used. So they cannot all wait for each other, and the
// first in the order gets its bytes. The caller holds the lock.
func (b *Budget) endDeadlock() {
	held := int64(0)
	for _, w := range b.waiters {
		if !w.accepted {
			held += w.held()
		}
	}
	b.refuseLast(held-b.used/2, 0)
}

// relieve frees memory if w is the first waiter or fits into what is kept for small requests. It ends arrivals that have stalled, and refuses
// waiters of a larger kind, since what they hold may be in the part that is kept.
func (b *Budget) relieve(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, more := slices.Index(b.waiters, w), w.missing(false)
	if i == 0 {
		b.endStalled(b.missing())
	}
	switch {
	case i >= 0 && w.fitsSmall():
		b.refuseLast(more, b.ordinary()/smallPart)
	case i == 0 && w.class() == 0:
		b.refuseLast(more, b.ordinary())
	}
}

// refuseLast refuses waiters of more than size bytes, the last first, until they hold this many together. The first one stays, and the first
// large one, and those that hold nothing or are accepted. The caller holds the lock.
func (b *Budget) refuseLast(bytes, size int64) {
	large := slices.IndexFunc(b.waiters, func(w *waiter) bool { return w.class() > 0 && !w.accepted })
	for i := len(b.waiters) - 1; i > 0 && bytes > 0; i-- {
		w := b.waiters[i]
		if i == large || w.accepted || w.held() == 0 || w.total() <= size {
			continue
		}
		bytes -= w.held()
		b.waiters = slices.Delete(b.waiters, i, i+1)
		w.done <- fmt.Errorf("%w: %d more bytes are not free, and others are served first; the budget has %d", ErrExhausted, w.more, b.size)
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

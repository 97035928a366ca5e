// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// ErrStalled says that a request was ended, because it had stalled and others waited for memory. It is retryable.
var ErrStalled = fmt.Errorf("%w: the request arrives too slowly while others wait", ErrExhausted)

const (
	// A request has stalled if less than progressBytes of its body have arrived in stallTime, or if the body is not complete after
	// maxArrivalTime. It is ended only while others wait for memory.
	progressBytes  = 64 << 10
	stallTime      = 250 * time.Millisecond
	maxArrivalTime = 5 * time.Second
	// A request whose body has been received, but not its end, has stalled after openTime.
	openTime = 50 * time.Millisecond
)

// Arrival is a request whose body is arriving. It must be released. Its body must not be read concurrently.
type Arrival struct {
	*Reservation
	// abort makes the pending read of the body fail.
	abort func()
	// began is when its body began to arrive, or when the request did.
	began time.Time
	// received counts the bytes since the last progress.
	received int
	// progressed is the time of the last progress in Unix nanoseconds, or 0 while it is not known that the request waits for its sender.
	progressed atomic.Int64
	// The lock of the budget guards the fields below.

	// share counts a request of [Budget.ArriveCounted] while its body arrives.
	share *Share
	// open reports whether the body of such a request has arrived, but not its end, ended whether abort was called.
	open, ended bool
}

// Arrive begins the arrival of a request. overhead is the memory of the request without its body. abort makes a pending read of the
// body fail. It is called at most once, and must not block.
func (b *Budget) Arrive(ctx context.Context, overhead int64, abort func()) (*Arrival, error) {
	r := b.Begin()
	if err := r.Grow(ctx, overhead); err != nil {
		return nil, err
	}
	return b.newArrival(r, abort, nil), nil
}

func (b *Budget) newArrival(r *Reservation, abort func(), share *Share) *Arrival {
	a := &Arrival{Reservation: r, abort: abort, began: time.Now(), share: share}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arrivals = append(b.arrivals, a)
	return a
}

// Arriving returns the number of requests whose body is arriving.
func (b *Budget) Arriving() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.arrivals)
}

// ArriveCounted is Arrive for a body that others read and count. It does not wait. share has the overhead until the body has arrived.
func (b *Budget) ArriveCounted(share *Share, overhead int64, abort func()) *Arrival {
	r := b.Begin()
	r.Add(overhead)
	share.Use(overhead)
	return b.newArrival(r, abort, share)
}

// Received says that the body of [Budget.ArriveCounted] has arrived, but that the request waits for its sender to end it.
func (a *Arrival) Received() {
	a.locked(func() {
		a.leaveShare()
		a.open, a.began = true, time.Now()
		a.progressed.Store(a.began.Add(openTime - stallTime).UnixNano())
	})
}

// leaveShare subtracts the request from its share. The caller holds the lock.
func (a *Arrival) leaveShare() {
	if a.share != nil {
		a.share.Use(-a.bytes)
		a.share = nil
	}
}

// End says that the request has arrived, or never will: it cannot be ended any more. It reports whether it could before.
func (a *Arrival) End() bool {
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.arrivals, a)
	if i < 0 {
		return false
	}
	b.arrivals = slices.Delete(b.arrivals, i, i+1)
	a.arriving = false
	a.leaveShare()
	return !a.ended
}

// Release ends the arrival, and releases the reservation.
func (a *Arrival) Release() {
	a.End()
	a.Reservation.Release()
}

// Read reads the body to its end. announced is its length, or -1. The work on the body is expected to need workFactor times its size in
// all, which a large request waits for with little read. The error is io.EOF if the body is empty, [ErrStalled] if the request was ended,
// and [ErrCanceled] if ctx has. After it, the request cannot be ended.
func (a *Arrival) Read(ctx context.Context, body io.Reader, announced int64, workFactor int64) ([]byte, error) {
	// Not before: a request without a body to read has begun, and a body that a target makes takes time until it begins.
	a.locked(func() { a.arriving, a.began = true, time.Now() })
	content, err := a.read(ctx, body, announced, workFactor)
	switch {
	case !a.End():
		return nil, ErrStalled
	case err != nil && errors.Is(err, context.Cause(ctx)):
		return nil, canceled(ctx)
	}
	return content, err
}

func (a *Arrival) read(ctx context.Context, body io.Reader, announced int64, workFactor int64) ([]byte, error) {
	overhead := a.Bytes()
	content := make([]byte, 0, 1) // Until the first byte has arrived, no other memory is allocated.
	a.progress()
	for {
		n, err := body.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		if a.received += n; a.received >= progressBytes {
			a.progress()
		}
		switch {
		case errors.Is(err, io.EOF) && len(content) > 0:
			return content, nil
		case err != nil:
			return nil, err
		case len(content) == cap(content):
			a.progressed.Store(0)
			if content, err = a.enlarge(ctx, content, announced, workFactor, overhead); err != nil {
				return nil, err
			}
			a.progress()
		}
	}
}

// firstBytes is the size of the first buffer of a body, unless less is announced. Most profiles fit.
const firstBytes = 64 << 10

// enlarge copies content to a larger buffer. The first one has firstBytes, the next one the announced length if the request is large, or
// else twice the capacity, but no more than announced. One more byte than that shows the end without growing.
func (a *Arrival) enlarge(ctx context.Context, content []byte, announced, workFactor, overhead int64) ([]byte, error) {
	b, before := a.budget, int64(cap(content))
	if announced > b.size {
		return nil, fmt.Errorf("%w: its body needs %d bytes, the budget has %d", ErrTooLarge, announced, b.size)
	}
	capacity := max(2*before, firstBytes)
	large := before >= firstBytes && announced*workFactor > b.ordinary()
	if announced >= int64(len(content)) && (announced < capacity || large) {
		capacity = announced + 1
	}
	total := overhead + before + capacity
	if large {
		// A request may need less than expected, so half of the budget is enough to begin.
		total = max(total, overhead+min(announced*workFactor, b.size/2))
	}
	if err := a.Grow(ctx, total); err != nil {
		return nil, err
	}
	return append(make([]byte, 0, capacity), content...), nil
}

// progress notes that the sender makes progress, or that the request waits for it again.
func (a *Arrival) progress() {
	a.received = 0
	a.progressed.Store(time.Now().UnixNano())
}

// stalled reports whether the request has stalled, see stallTime.
func (a *Arrival) stalled(now time.Time) bool {
	progressed := a.progressed.Load()
	return progressed != 0 && (now.Sub(time.Unix(0, progressed)) >= stallTime || now.Sub(a.began) >= maxArrivalTime)
}

// EndStalled ends all arrivals that have stalled. It is for a server that has no connection left.
func (b *Budget) EndStalled() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endStalled(math.MaxInt64)
}

// missing returns how many bytes those that wait need, beside what is free and what arrivals hold that have been ended. The caller holds the lock.
func (b *Budget) missing() int64 {
	limit, missing := b.size, b.used
	for _, w := range b.waiters {
		limit = min(limit, w.limitOf(w.total()))
		missing += w.more
	}
	missing -= limit
	for _, a := range b.arrivals {
		if a.ended {
			missing -= a.bytes
		}
	}
	return missing
}

// endStalled ends arrivals that have stalled, oldest first, until they hold this many bytes. The caller holds the lock.
func (b *Budget) endStalled(bytes int64) {
	now := time.Now()
	for _, a := range b.arrivals {
		if bytes <= 0 {
			return
		}
		if !a.ended && a.stalled(now) {
			a.end()
			bytes -= a.bytes
		}
	}
}

// firstPart: [Budget.EndMost] keeps one request for each firstPart of the budget. With messages of at most 16 MiB, as the configurations have
// it, these fit into a quarter of the budget.
const firstPart = 64 << 20

// EndMost ends arrivals of [Budget.ArriveCounted]: nobody knows what each holds, or its progress. Those that take longer than
// maxArrivalTime end. Of the others, one for each firstPart of the budget is kept. The rest are late after stallTime, the first quarter of them
// after twice that time, and as many as are kept, the first ones, after four times: most of the memory may be in younger ones, which are late
// soon, or in ones that have ended, and is free soon. Three quarters of the late ones end, those that began last. With all, all
// end.
func (b *Budget) EndMost(all bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	var arriving, late []*Arrival
	for _, a := range b.arrivals {
		switch {
		case a.ended, a.share == nil && !a.open:
		case all, now.Sub(a.began) >= maxArrivalTime, a.open && a.stalled(now):
			a.end()
		case !a.open:
			arriving = append(arriving, a)
		}
	}
	kept := min(int(b.size/firstPart), len(arriving))
	rest := arriving[kept:]
	for i, a := range rest {
		limit := stallTime
		switch {
		case i < kept:
			limit *= 4
		case i < len(rest)/4:
			limit *= 2
		}
		if now.Sub(a.began) >= limit {
			late = append(late, a)
		}
	}
	for _, a := range late[len(late)/4:] {
		a.end()
	}
}

// end ends the request. The caller holds the lock.
func (a *Arrival) end() {
	a.ended = true
	a.abort()
}

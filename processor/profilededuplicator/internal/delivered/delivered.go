// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivered

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// IDs are the ids that are in flight or were delivered. Safe for concurrent use.
type IDs struct {
	ttl        time.Duration
	maxEntries int
	evicted    func(n int)

	mu sync.Mutex
	// inFlight has the ids of all claims that are not settled, held ones included.
	inFlight  map[ID]*Claim
	delivered map[ID]*entry
	// order is the ring of the delivered ids, the oldest first. It is not an entry itself.
	order entry
}

// New returns IDs that remember at most maxEntries delivered ids, each for ttl. It calls evicted with the number of ids that
// were forgotten earlier.
func New(ttl time.Duration, maxEntries int, evicted func(n int)) *IDs {
	r := &IDs{
		ttl:        ttl,
		maxEntries: maxEntries,
		evicted:    evicted,
		inFlight:   map[ID]*Claim{},
		delivered:  map[ID]*entry{},
	}
	r.order.next, r.order.previous = &r.order, &r.order
	return r
}

// Len returns how many delivered ids are remembered.
func (r *IDs) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(time.Now())
	return len(r.delivered)
}

// ErrInFlight says that it is not known yet whether a profile is a repeated one. The same claim may succeed later.
var ErrInFlight = errors.New("cannot tell yet whether a profile is a repeated one: its first copy is in flight")

// wait is how long a claim waits for others to be settled.
const wait = time.Second

// Claim claims all ids that are unknown. repeated says for each of ids whether it is held, was delivered, or occurs earlier in
// ids. While one of the ids is in flight, Claim waits and claims none, so that two calls cannot wait for each other. After
// a second the error is [ErrInFlight]. If ctx ends before, the error is also that of ctx.
//
// The claim must be settled.
func (r *IDs) Claim(ctx context.Context, ids []ID) (claim *Claim, repeated []bool, err error) {
	claim, repeated, other := r.try(ids)
	if other == nil {
		return claim, repeated, nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for other != nil {
		select {
		case <-other.settled:
		case <-timer.C:
			return nil, nil, fmt.Errorf("%w, also after %v", ErrInFlight, wait)
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("%w: %w", ErrInFlight, context.Cause(ctx))
		}
		claim, repeated, other = r.try(ids)
	}
	return claim, repeated, nil
}

// try is Claim without waiting. It returns the claim that has one of ids in flight, if there is one.
func (r *IDs) try(ids []ID) (claim *Claim, repeated []bool, other *Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if other := r.inFlight[id]; other != nil && !other.held {
			return nil, nil, other
		}
	}
	now := time.Now()
	r.expire(now)
	claim = &Claim{ids: r, settled: make(chan struct{})}
	repeated = make([]bool, len(ids))
	for i, id := range ids {
		if known := r.delivered[id]; known != nil {
			repeated[i] = true
			if !id.timeless() { // else equal captures that come at an interval below the ttl would never pass
				r.touch(known, now)
			}
		} else if r.inFlight[id] != nil {
			repeated[i] = true
		} else {
			r.inFlight[id] = claim
			claim.has = append(claim.has, id)
		}
	}
	return claim, repeated, nil
}

// expire forgets what is older than the ttl.
func (r *IDs) expire(now time.Time) {
	for r.order.next != &r.order && now.Sub(r.order.next.at) >= r.ttl {
		r.forget(r.order.next)
	}
}

// deliver remembers an id.
func (r *IDs) deliver(id ID, now time.Time) (evicted int) {
	if len(r.delivered) >= r.maxEntries {
		r.forget(r.order.next)
		evicted = 1
	}
	e := &entry{id: id}
	r.delivered[id] = e
	e.insertBefore(&r.order)
	e.at = now
	return evicted
}

// touch makes an entry the newest.
func (r *IDs) touch(e *entry, now time.Time) {
	e.remove()
	e.insertBefore(&r.order)
	e.at = now
}

func (r *IDs) forget(e *entry) {
	e.remove()
	delete(r.delivered, e.id)
}

// entry is a delivered id in the order of time.
type entry struct {
	next, previous *entry
	at             time.Time
	id             ID
}

func (e *entry) insertBefore(next *entry) {
	e.next, e.previous = next, next.previous
	e.previous.next, next.previous = e, e
}

func (e *entry) remove() {
	e.previous.next, e.next.previous = e.next, e.previous
}

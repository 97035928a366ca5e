// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package delivered remembers which profiles were delivered, to recognize repeated ones.
//
// An id has one of four states:
//   - unknown;
//   - in flight, while a [Claim] has it and is not settled;
//   - held, if the sender of that claim got a successful answer before the claim is settled;
//   - delivered, after the claim was settled, until the id expires or is evicted.
//
// If a profile comes whose id is in flight, [IDs.Claim] waits up to a second until the other claim is settled. If the first
// copy is delivered, the second is dropped. If not, the second is processed, so that none is lost. A profile whose id is
// held is a repeated one, since its first sender got a successful answer.
package delivered // import "github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/delivered"

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// IDs remembers the ids of profiles that are in flight or were delivered. Safe for concurrent use.
type IDs struct {
	ttl        time.Duration
	maxEntries int
	evicted    func(n int)

	mu sync.Mutex
	// inFlight has the ids of all claims that are not settled, including held ones.
	inFlight  map[ID]*Claim
	delivered map[ID]*entry
	// order is the head of a ring of the delivered ids, the oldest first.
	order entry
}

// New returns IDs that remember at most maxEntries delivered ids, each for ttl. They call evicted with the number of ids
// that were removed before their ttl, because there were too many.
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

// Len returns the number of delivered ids in memory.
func (r *IDs) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(time.Now())
	return len(r.delivered)
}

// ErrInFlight says that another request with the same profile is not finished. The same claim may succeed later.
var ErrInFlight = errors.New("cannot tell yet whether a profile is a repeated one: its first copy is in flight")

// wait limits how long Claim waits for other claims.
const wait = time.Second

// Claim claims all unknown ids. repeated reports for each element of ids whether it is held, was delivered, or occurs
// earlier in ids. While one of the ids is in flight, Claim waits and claims none: so two calls cannot wait for each other.
// After a second it returns [ErrInFlight]. If ctx ends before, the error wraps [ErrInFlight] and that of ctx.
//
// The caller must settle the claim.
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
			return nil, nil, fmt.Errorf("%w, even after %v", ErrInFlight, wait)
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
		if r.delivered[id] != nil || r.inFlight[id] != nil {
			repeated[i] = true
			continue
		}
		r.inFlight[id] = claim
		claim.claimed = append(claim.claimed, id)
	}
	return claim, repeated, nil
}

// expire removes the delivered ids that are older than the ttl.
func (r *IDs) expire(now time.Time) {
	for r.order.next != &r.order && now.Sub(r.order.next.at) >= r.ttl {
		r.forget(r.order.next)
	}
}

// deliver adds a delivered id.
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

func (r *IDs) forget(e *entry) {
	e.remove()
	delete(r.delivered, e.id)
}

// entry is a delivered id in the ring.
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

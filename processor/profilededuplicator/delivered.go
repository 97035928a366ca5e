// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// deliveredIDs remembers which profiles were delivered, to recognize repeated ones. Safe for concurrent use.
//
// An id has one of four states:
//   - unknown;
//   - in flight, while an idClaim has it and is not settled;
//   - held, if the sender of that claim got a successful answer before the claim is settled;
//   - delivered, after the claim was settled, until the id expires or is evicted.
//
// If a profile comes whose id is in flight, claim waits up to a second until the other claim is settled. If the first copy
// is delivered, the second is dropped. If not, the second is processed, so that none is lost. A profile whose id is held is
// a repeated one, since its first sender got a successful answer.
type deliveredIDs struct {
	ttl        time.Duration
	maxEntries int
	evicted    func(n int)

	mu sync.Mutex
	// inFlight has the ids of all claims that are not settled, including held ones.
	inFlight  map[profileID]*idClaim
	delivered map[profileID]bool
	// order has the delivered ids, the oldest first.
	order []deliveredID
}

// deliveredID is an id and the time of its delivery.
type deliveredID struct {
	id profileID
	at time.Time
}

// newDeliveredIDs returns deliveredIDs that remember at most maxEntries ids, each for ttl. They call evicted with the number
// of ids that were removed before their ttl, because there were too many.
func newDeliveredIDs(ttl time.Duration, maxEntries int, evicted func(n int)) *deliveredIDs {
	return &deliveredIDs{
		ttl:        ttl,
		maxEntries: maxEntries,
		evicted:    evicted,
		inFlight:   map[profileID]*idClaim{},
		delivered:  map[profileID]bool{},
	}
}

// len returns the number of delivered ids in memory.
func (r *deliveredIDs) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(time.Now())
	return len(r.delivered)
}

// errInFlight says that another request with the same profile is not finished. The same claim may succeed later.
var errInFlight = errors.New("cannot tell yet whether a profile is a repeated one: its first copy is in flight")

// claimWait limits how long claim waits for other claims.
const claimWait = time.Second

// claim claims all unknown ids. repeated reports for each element of ids whether it is held, was delivered, or occurs
// earlier in ids. While one of the ids is in flight, claim waits and claims none: so two calls cannot wait for each other.
// After a second it returns errInFlight. If ctx ends before, the error wraps errInFlight and that of ctx.
//
// The caller must settle the claim.
func (r *deliveredIDs) claim(ctx context.Context, ids []profileID) (claim *idClaim, repeated []bool, err error) {
	claim, repeated, other := r.try(ids)
	if other == nil {
		return claim, repeated, nil
	}
	timer := time.NewTimer(claimWait)
	defer timer.Stop()
	for other != nil {
		select {
		case <-other.settled:
		case <-timer.C:
			return nil, nil, fmt.Errorf("%w, even after %v", errInFlight, claimWait)
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("%w: %w", errInFlight, context.Cause(ctx))
		}
		claim, repeated, other = r.try(ids)
	}
	return claim, repeated, nil
}

// try is claim without waiting. It returns the claim that has one of ids in flight, if there is one.
func (r *deliveredIDs) try(ids []profileID) (claim *idClaim, repeated []bool, other *idClaim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if other := r.inFlight[id]; other != nil && !other.held {
			return nil, nil, other
		}
	}
	now := time.Now()
	r.expire(now)
	claim = &idClaim{ids: r, settled: make(chan struct{})}
	repeated = make([]bool, len(ids))
	for i, id := range ids {
		if r.delivered[id] || r.inFlight[id] != nil {
			repeated[i] = true
			continue
		}
		r.inFlight[id] = claim
		claim.claimed = append(claim.claimed, id)
	}
	return claim, repeated, nil
}

// expire removes the delivered ids that are older than the ttl.
func (r *deliveredIDs) expire(now time.Time) {
	for len(r.order) > 0 && now.Sub(r.order[0].at) >= r.ttl {
		r.forgetOldest()
	}
}

func (r *deliveredIDs) forgetOldest() {
	delete(r.delivered, r.order[0].id)
	r.order = r.order[1:]
}

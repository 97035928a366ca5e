// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import "time"

// idClaim has the ids of profiles that one request has in flight.
type idClaim struct {
	ids *deliveredIDs
	// The lock of ids guards claimed, over and held.
	claimed []profileID
	// over reports whether settle was called, and held whether hold was called.
	over, held bool
	// settled is closed when the claim is over or held. Other claims wait for this.
	settled chan struct{}
}

// hold records that the sender gets a successful answer now. From then on, the ids count as repeated for other requests. The
// claim must still be settled. On a nil claim, hold does nothing.
func (c *idClaim) hold() {
	if c == nil {
		return
	}
	c.ids.mu.Lock()
	defer c.ids.mu.Unlock()
	if !c.over && !c.held {
		c.held = true
		close(c.settled)
	}
}

// settle ends the claim. The ids for which delivered returns true become delivered, the others become unknown. Only the
// first call has an effect. On a nil claim, settle does nothing.
func (c *idClaim) settle(delivered func(profileID) bool) {
	if c == nil {
		return
	}
	r := c.ids
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.over {
		return
	}
	c.over = true
	now, evicted := time.Now(), 0
	r.expire(now)
	for _, id := range c.claimed {
		delete(r.inFlight, id)
		if !delivered(id) {
			continue
		}
		if len(r.order) >= r.maxEntries {
			r.forgetOldest()
			evicted++
		}
		r.delivered[id] = true
		r.order = append(r.order, deliveredID{id, now})
	}
	c.claimed = nil
	if !c.held {
		close(c.settled)
	}
	if evicted > 0 {
		r.evicted(evicted)
	}
}

// allDelivered is the argument of settle if all profiles were delivered.
func allDelivered(profileID) bool { return true }

// noneDelivered is the argument of settle if no profile was delivered, or if that is unknown.
func noneDelivered(profileID) bool { return false }

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivered

import "time"

// Claim has the ids of profiles that one request has in flight.
type Claim struct {
	ids *IDs
	// The lock of ids guards claimed, over and held.
	claimed []ID
	// over reports whether Settle was called, and held whether Hold was called.
	over, held bool
	// settled is closed when the claim is over or held. Other claims wait for this.
	settled chan struct{}
}

// Hold records that the sender gets a successful answer now. From then on, the ids count as repeated for other requests. The
// claim must still be settled. On a nil claim, Hold does nothing.
func (c *Claim) Hold() {
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

// Settle ends the claim. The ids for which delivered returns true become delivered, the others become unknown. Only the
// first call has an effect. On a nil claim, Settle does nothing.
func (c *Claim) Settle(delivered func(ID) bool) {
	if c == nil {
		return
	}
	if evicted := c.settle(delivered); evicted > 0 {
		c.ids.evicted(evicted)
	}
}

func (c *Claim) settle(delivered func(ID) bool) (evicted int) {
	r := c.ids
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.over {
		return 0
	}
	c.over = true
	now := time.Now()
	r.expire(now)
	for _, id := range c.claimed {
		delete(r.inFlight, id)
		if delivered(id) {
			evicted += r.deliver(id, now)
		}
	}
	c.claimed = nil
	if !c.held {
		close(c.settled)
	}
	return evicted
}

// All is the argument of Settle if all profiles were delivered.
func All(ID) bool { return true }

// None is the argument of Settle if no profile was delivered, or if that is unknown.
func None(ID) bool { return false }

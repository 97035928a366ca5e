// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivered

import "time"

// Claim is the ids of profiles that one request has in flight.
type Claim struct {
	ids *IDs
	has []ID
	// settled is closed when the claim is over or held: then others need not wait for it.
	settled chan struct{}
	// over says that Settle was called, held that Hold was. The lock of ids guards them, and has.
	over, held bool
}

// Hold says that the sender is told of success now. From then on the ids count as repeated for others. The claim must still
// be settled. On a nil claim it does nothing.
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

// Settle ends the claim: ids for which delivered is true are remembered as delivered, the others are unknown again. Only the
// first call counts. On a nil claim it does nothing.
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
	for _, id := range c.has {
		delete(r.inFlight, id)
		if delivered(id) {
			evicted += r.deliver(id, now)
		}
	}
	c.has = nil
	if !c.held {
		close(c.settled)
	}
	return evicted
}

// All is the argument of Settle when all profiles were delivered.
func All(ID) bool { return true }

// None is the argument of Settle when no profile was delivered, or when that is unknown.
func None(ID) bool { return false }

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivered

import "time"

// Claim is a number of ids whose profiles are in flight.
type Claim struct {
	ids *IDs
	has []ID
	// settled is closed when it is known what others are told of the ids: that the claim is over, or held.
	settled chan struct{}
	// over says that settled is closed, held that the sender was told of success. The lock of ids guards them, and has.
	over, held bool
}

// Hold says that the sender is told of success now: who claims one of the ids need not wait, but has a repeated one. The
// claim must be settled all the same. A claim that is nil has nothing to hold.
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

// Settle ends the claim: the ids of which delivered is true are remembered as delivered, the others are unknown again.
// Those who wait for one of them go on. Only the first call counts. A claim that is nil has nothing to settle.
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

// All is the argument of Settle when all profiles arrived, None when it must be taken that none did.
func All(ID) bool { return true }

// None is the argument of Settle when no profile arrived.
func None(ID) bool { return false }

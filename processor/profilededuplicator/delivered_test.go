// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func id(n byte) profileID { return profileID{n} }

func unlimited() *deliveredIDs { return newDeliveredIDs(time.Hour, 1000, func(int) {}) }

// claim claims ids. noneDelivered of them may be in flight.
func claim(t *testing.T, r *deliveredIDs, ids ...profileID) (*idClaim, []bool) {
	t.Helper()
	c, repeated, err := r.claim(t.Context(), ids)
	require.NoError(t, err)
	return c, repeated
}

// deliver claims ids and settles the claim as delivered.
func deliver(t *testing.T, r *deliveredIDs, ids ...profileID) {
	t.Helper()
	c, _ := claim(t, r, ids...)
	c.settle(allDelivered)
}

// known reports for each id whether it was delivered.
func known(t *testing.T, r *deliveredIDs, ids ...profileID) []bool {
	t.Helper()
	c, repeated := claim(t, r, ids...)
	c.settle(noneDelivered)
	return repeated
}

func TestOnlyDeliveredIDsAreKnown(t *testing.T) {
	r := unlimited()
	c, repeated := claim(t, r, id(1), id(2), id(3))
	assert.Equal(t, []bool{false, false, false}, repeated)
	assert.Zero(t, r.len(), "nothing arrived yet")
	c.settle(func(i profileID) bool { return i == id(2) })
	assert.Equal(t, []bool{false, true, false}, known(t, r, id(1), id(2), id(3)))
	assert.Equal(t, 1, r.len())
}

func TestTwiceInOneMessage(t *testing.T) {
	r := unlimited()
	c, repeated := claim(t, r, id(1), id(2), id(1), id(1))
	assert.Equal(t, []bool{false, false, true, true}, repeated)
	c.settle(noneDelivered)
	assert.Equal(t, []bool{false, false}, known(t, r, id(1), id(2)))
}

// TestClockJumps: the ttl uses the monotonic clock. A time.Time loses its monotonic reading if it is rounded, parsed or
// converted to another time zone.
func TestClockJumps(t *testing.T) {
	r := unlimited()
	deliver(t, r, id(1))
	assert.Contains(t, r.order[0].at.String(), " m=")

	// Without the monotonic clock, a wall clock that was set back keeps ids longer, and removes none too early.
	r.mu.Lock()
	defer r.mu.Unlock()
	delivered := time.Unix(10_000, 0)
	r.order[0].at = delivered
	r.expire(delivered.Add(-24 * time.Hour))
	assert.Len(t, r.delivered, 1)
	r.expire(delivered.Add(r.ttl))
	assert.Empty(t, r.delivered)
}

func TestOldestAreEvicted(t *testing.T) {
	evicted := 0
	r := newDeliveredIDs(time.Hour, 3, func(n int) { evicted += n })
	deliver(t, r, id(1))
	deliver(t, r, id(2), id(3))
	deliver(t, r, id(4), id(5))
	assert.Equal(t, 2, evicted)
	assert.Equal(t, 3, r.len())
	assert.Equal(t, []bool{false, false, true, true, true}, known(t, r, id(1), id(2), id(3), id(4), id(5)))
}

// waiter is a claim that waits in its own goroutine.
type waiter struct {
	claim    *idClaim
	repeated []bool
	err      error
	done     atomic.Bool
}

func waitFor(ctx context.Context, r *deliveredIDs, ids ...profileID) *waiter {
	w := &waiter{}
	go func() {
		w.claim, w.repeated, w.err = r.claim(ctx, ids)
		w.done.Store(true)
	}()
	synctest.Wait()
	return w
}

func TestWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := unlimited()
		first, _ := claim(t, r, id(1))
		ctx, cancel := context.WithCancelCause(t.Context())
		second := waitFor(ctx, r, id(1), id(2))
		cancel(errors.New("gone"))
		synctest.Wait()
		require.True(t, second.done.Load())
		assert.ErrorContains(t, second.err, "gone")
		assert.Nil(t, second.claim)
		first.settle(allDelivered)
		assert.Equal(t, []bool{true, false}, known(t, r, id(1), id(2)), "who left has taken nothing along")
	})
}

func TestHeldIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := unlimited()
		first, _ := claim(t, r, id(1))
		waiting := waitFor(t.Context(), r, id(1))
		first.hold()
		synctest.Wait()
		require.True(t, waiting.done.Load(), "who waited gets its answer now")
		assert.Equal(t, []bool{true}, waiting.repeated)
		waiting.claim.settle(noneDelivered)
		assert.Equal(t, []bool{true, false}, known(t, r, id(1), id(2)), "and who comes later at once")
		assert.Zero(t, r.len())
		first.settle(noneDelivered)
		assert.Equal(t, []bool{false}, known(t, r, id(1)), "what was lost may come again")

		second, _ := claim(t, r, id(1))
		second.hold()
		second.hold()
		second.settle(allDelivered)
		second.hold()
		assert.Equal(t, []bool{true}, known(t, r, id(1)))
		(*idClaim)(nil).hold()
	})
}

// Each claim wants an id that another claim has.
func TestNoDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := unlimited()
		first, _ := claim(t, r, id(1), id(2))
		var waiting []*waiter
		for _, ids := range [][]profileID{{id(2), id(3)}, {id(3), id(1)}, {id(1), id(2)}, {id(3), id(2), id(1)}} {
			waiting = append(waiting, waitFor(t.Context(), r, ids...))
		}
		first.settle(noneDelivered)
		delivered := 0
		for range waiting {
			for _, w := range waiting {
				synctest.Wait()
				if w.done.Load() && w.claim != nil {
					for _, known := range w.repeated {
						if !known {
							delivered++
						}
					}
					w.claim.settle(allDelivered)
					w.claim = nil
				}
			}
		}
		assert.Equal(t, 3, delivered, "each of the three ids once")
		assert.Equal(t, []bool{true, true, true}, known(t, r, id(1), id(2), id(3)))
	})
}

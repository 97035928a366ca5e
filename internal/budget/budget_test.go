// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100, time.Second)
		first, err := b.Reserve(t.Context(), 60)
		require.NoError(t, err)
		require.NoError(t, first.Grow(t.Context(), 50), "it has them already")
		_, err = b.Reserve(t.Context(), 101)
		require.ErrorIs(t, err, ErrTooLarge)
		assert.ErrorContains(t, err, "needs 101 bytes, the budget has 100")
		require.ErrorIs(t, first.Grow(t.Context(), 101), ErrTooLarge)

		begin := time.Now()
		_, err = b.Reserve(t.Context(), 41)
		require.ErrorIs(t, err, ErrExhausted)
		assert.Equal(t, time.Second, time.Since(begin))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = b.Reserve(ctx, 41)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		time.AfterFunc(time.Millisecond, func() { first.Shrink(47) })
		second, err := b.Reserve(t.Context(), 41)
		require.NoError(t, err)
		first.Release()
		first.Release()
		require.NoError(t, second.Grow(t.Context(), 100), "no other reservation holds bytes")
		second.Release()
		used, peak := b.Used()
		assert.Zero(t, used)
		assert.Equal(t, int64(100), peak)
	})
}

// TestGrowingFirst: a reservation that holds bytes is served before a new one, even if the new one began to wait first.
func TestGrowingFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100, time.Minute)
		one, err := b.Reserve(t.Context(), 44)
		require.NoError(t, err)
		other, err := b.Reserve(t.Context(), 44)
		require.NoError(t, err)
		var order []string
		var group sync.WaitGroup
		group.Go(func() {
			newcomer, err := b.Reserve(t.Context(), 60)
			assert.NoError(t, err)
			order = append(order, "newcomer")
			newcomer.Release()
		})
		synctest.Wait()
		group.Go(func() {
			assert.NoError(t, one.Grow(t.Context(), 100))
			order = append(order, "holder")
			one.Release()
		})
		synctest.Wait()
		other.Release()
		group.Wait()
		assert.Equal(t, []string{"holder", "newcomer"}, order)
	})
}

// TestSmallPassesLarge: a small reservation is served while a large one waits.
func TestSmallPassesLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1000, time.Minute)
		holder, err := b.Reserve(t.Context(), 500)
		require.NoError(t, err)
		large, err := b.Reserve(t.Context(), 100)
		require.NoError(t, err)
		var group sync.WaitGroup
		group.Go(func() { assert.NoError(t, large.Grow(t.Context(), 900)) })
		synctest.Wait()
		begin := time.Now()
		small, err := b.Reserve(t.Context(), 10)
		require.NoError(t, err)
		require.NoError(t, small.Grow(t.Context(), 200))
		assert.Zero(t, time.Since(begin))
		small.Release()
		holder.Release()
		group.Wait()
		large.Release()
	})
}

// TestKeptForSmall: small reservations get the kept part of the budget while large ones hold the rest.
func TestKeptForSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1024, time.Second)
		large, err := b.Reserve(t.Context(), 1024-128)
		require.NoError(t, err)
		_, err = b.Reserve(t.Context(), 33)
		require.ErrorIs(t, err, ErrExhausted)
		var small []*Reservation
		for range 4 {
			r, err := b.Reserve(t.Context(), 10)
			require.NoError(t, err)
			require.NoError(t, r.Grow(t.Context(), 32))
			require.ErrorIs(t, r.Grow(t.Context(), 33), ErrExhausted, "it would not be small")
			small = append(small, r)
		}
		_, err = b.Reserve(t.Context(), 1)
		require.ErrorIs(t, err, ErrExhausted)
		for _, r := range append(small, large) {
			r.Release()
		}
	})
}

// TestAccepted: an accepted reservation may use the bytes that are kept for small ones, and is never preempted.
func TestAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1024, time.Second)
		held, err := b.Reserve(t.Context(), 512) // by batches and queues
		require.NoError(t, err)
		r, err := b.Reserve(t.Context(), 64)
		require.NoError(t, err)
		require.ErrorIs(t, r.Grow(t.Context(), 512), ErrExhausted)
		r.Accept()
		require.NoError(t, r.Grow(t.Context(), 512))
		r.Shrink(500)
		var group sync.WaitGroup
		group.Go(func() { assert.NoError(t, r.Grow(t.Context(), 600)) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = b.Reserve(ctx, 20)
		require.ErrorIs(t, err, context.DeadlineExceeded, "it waits, and nothing is preempted")
		held.Release()
		group.Wait()
		r.Release()
	})
}

// TestPreempt: if a small reservation waits for bytes that waiting large ones hold, only as many of those fail as necessary.
func TestPreempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1024, time.Minute)
		working, err := b.Reserve(t.Context(), 1024-4*32)
		require.NoError(t, err)
		var refused atomic.Int64
		var group sync.WaitGroup
		for range 4 {
			large, err := b.Reserve(t.Context(), 32)
			require.NoError(t, err)
			group.Go(func() {
				if err := large.Grow(t.Context(), 40); err != nil {
					assert.ErrorIs(t, err, ErrExhausted)
					assert.ErrorContains(t, err, "smaller requests wait")
					refused.Add(1)
				}
				time.Sleep(time.Millisecond)
				large.Release()
			})
			synctest.Wait()
		}
		begin := time.Now()
		small, err := b.Reserve(t.Context(), 30)
		require.NoError(t, err)
		assert.Equal(t, time.Millisecond, time.Since(begin))
		assert.Equal(t, int64(1), refused.Load())
		small.Release()
		working.Release()
		group.Wait()
		assert.Equal(t, int64(1), refused.Load())
		used, _ := b.Used()
		assert.Zero(t, used)
		assert.Zero(t, b.preemptedBytes)
	})
}

// TestNoDeadlock: if two reservations wait for each other, the second one fails at once.
func TestNoDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100, time.Hour)
		one, err := b.Reserve(t.Context(), 44)
		require.NoError(t, err)
		other, err := b.Reserve(t.Context(), 44)
		require.NoError(t, err)
		var group sync.WaitGroup
		group.Go(func() { assert.NoError(t, one.Grow(t.Context(), 80)) })
		synctest.Wait()
		begin := time.Now()
		require.ErrorIs(t, other.Grow(t.Context(), 60), ErrExhausted)
		assert.Equal(t, int64(44), other.Bytes())
		assert.Zero(t, time.Since(begin))
		other.Release()
		group.Wait()
		one.Release()
	})
}

func TestTake(t *testing.T) {
	b := New(100, 0)
	r, err := b.Reserve(t.Context(), 60)
	require.NoError(t, err)
	held := FromContext(NewContext(t.Context(), r)).Take(40)
	assert.Equal(t, int64(20), r.Bytes())
	r.Release()
	used, _ := b.Used()
	assert.Equal(t, int64(40), used)
	other, err := b.Reserve(t.Context(), 10)
	require.NoError(t, err)
	other.Add(held)
	assert.Zero(t, held.Bytes())
	assert.Equal(t, int64(50), other.Bytes())
	other.Release()
	used, _ = b.Used()
	assert.Zero(t, used)
}

// TestKeep: Take leaves what the request keeps, and what it takes can be released before or after.
func TestKeep(t *testing.T) {
	b := New(200, 0)
	r, err := b.Reserve(t.Context(), 60)
	require.NoError(t, err)
	r.Keep(50)
	assert.Equal(t, int64(50), r.Kept())
	held := r.Take(40)
	assert.Equal(t, int64(10), held.Bytes())
	assert.Equal(t, int64(50), r.Bytes())
	require.NoError(t, r.Grow(t.Context(), r.Kept()+40))
	held.Add(r.Take(40))
	assert.Equal(t, int64(50), held.Bytes())
	r.Shrink(20)
	assert.Zero(t, r.Take(1).Bytes(), "it has less than it keeps")
	r.Release()
	held.Release()
	used, _ := b.Used()
	assert.Zero(t, used)
	var none *Reservation
	none.Keep(1)
	assert.Zero(t, none.Kept())
}

// TestUnreachable: the garbage collector releases an unreachable reservation.
func TestUnreachable(t *testing.T) {
	b := New(100, 0)
	func() {
		_, err := b.Reserve(t.Context(), 60)
		require.NoError(t, err)
	}()
	assert.Eventually(t, func() bool {
		runtime.GC()
		used, _ := b.Used()
		return used == 0
	}, 10*time.Second, time.Millisecond)
}

// TestNil: a nil reservation has no limit.
func TestNil(t *testing.T) {
	none := FromContext(t.Context())
	require.NoError(t, none.Grow(t.Context(), 1<<60))
	assert.Zero(t, none.Bytes())
	assert.Nil(t, none.Take(1))
	none.Release()
}

// TestNeverAboveSize: many reservations grow and shrink at the same time, and never exceed the budget.
func TestNeverAboveSize(t *testing.T) {
	const size = 1000
	b := New(size, time.Millisecond)
	var held, most atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 200 {
				r, err := b.Reserve(t.Context(), 1+rand.Int64N(size))
				if err != nil {
					assert.ErrorIs(t, err, ErrExhausted)
					continue
				}
				before := r.Bytes()
				now := held.Add(before)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				_ = r.Grow(t.Context(), 1+rand.Int64N(size))
				held.Add(-before)
				r.Release()
			}
		})
	}
	group.Wait()
	used, peak := b.Used()
	assert.Zero(t, used)
	assert.LessOrEqual(t, peak, int64(size))
	assert.LessOrEqual(t, most.Load(), int64(size))
}

func TestProcessMemory(t *testing.T) {
	assert.Greater(t, ProcessMemory(), int64(64<<20))
	assert.Equal(t, int64(400), Part(1000, DefaultPercentage))
}

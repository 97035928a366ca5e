// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// beginNoting adds a request that frees its memory a millisecond after it is evicted. It appends its name to evicted then.
func (a *arrivals) beginNoting(evicted *[]string, name string) (request *arrival) {
	return a.beginReserving(-1, func() {
		*evicted = append(*evicted, name)
		time.AfterFunc(time.Millisecond, func() { request.release() })
	})
}

// TestStalledAreEvicted: above the limit, the requests that have stalled are evicted, oldest first, and no more than necessary.
func TestStalledAreEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArrivals(1000)
		var evicted []string
		first, second, third := a.beginNoting(&evicted, "first"), a.beginNoting(&evicted, "second"), a.beginNoting(&evicted, "third")
		require.NoError(t, first.reserve(400))
		require.NoError(t, second.reserve(400))
		time.Sleep(time.Hour)
		assert.Empty(t, evicted, "slow requests stay while there is room")
		require.NoError(t, third.reserve(400))
		assert.Equal(t, []string{"first"}, evicted)
		require.NoError(t, third.reserve(300))
		assert.Equal(t, []string{"first", "second"}, evicted)
		assert.Equal(t, int64(700), a.bytes())
		require.ErrorIs(t, second.reserve(1), errEvicted)
		assert.False(t, first.end())
		assert.True(t, third.end())
		assert.False(t, third.end())
		third.release()
		assert.Zero(t, a.bytes())
		assert.Zero(t, a.freeing)
	})
}

// TestManyAreEvictedAtOnce: as many small requests are evicted as a large one needs.
func TestManyAreEvictedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArrivals(1000)
		var evicted []string
		for range 100 {
			require.NoError(t, a.beginNoting(&evicted, "small").reserve(8))
		}
		time.Sleep(stallTime)
		waiting := a.beginNoting(&evicted, "waiting")
		begin := time.Now()
		require.NoError(t, waiting.reserve(200))
		assert.Equal(t, pollInterval, time.Since(begin))
		assert.Len(t, evicted, 16, "an eighth of 1000 is kept for small ones, so 125 bytes are missing")
		time.Sleep(time.Second)
		assert.Equal(t, int64(84*8+200), a.bytes())
	})
}

// TestTheLargestAlone: a request may have the whole limit while there is no other.
func TestTheLargestAlone(t *testing.T) {
	a := newArrivals(1000)
	request := a.beginReserving(-1, func() {})
	require.NoError(t, request.reserve(500))
	require.NoError(t, request.reserve(500))
}

// TestWaitIsLimited: a request that gets no memory is evicted after maxWait. What gRPC has received does not refuse it, since that
// can stay counted until a garbage collection.
func TestWaitIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArrivals(1000)
		arrived, evicted := a.beginReserving(1000, func() {}), false
		require.NoError(t, arrived.reserve(1000))
		assert.True(t, arrived.end())
		begin := time.Now()
		request := a.beginReserving(10, func() { evicted = true })
		require.ErrorIs(t, request.reserve(10), errEvicted)
		assert.Equal(t, maxWait, time.Since(begin))
		assert.True(t, evicted)
		assert.Equal(t, int64(1000), a.bytes(), "it has allocated nothing")

		arrived.release()
		begin = time.Now()
		a.add(1001)
		assert.Equal(t, maxWait, time.Since(begin))
		late := a.beginReserving(20, func() { t.Error("it is evicted") })
		require.NoError(t, late.reserve(10))
		assert.Equal(t, 2*maxWait, time.Since(begin))
		require.NoError(t, late.reserve(10), "it holds bytes, and gRPC still uses the limit")
		assert.Equal(t, 2*maxWait, time.Since(begin), "it has been delayed once")
	})
}

// flood receives requests of some sizes piece by piece, as httpBody does.
type flood struct {
	*arrivals
	allocated, most atomic.Int64
}

// receive receives one request. A piece takes a millisecond to arrive.
func (f *flood) receive(size int64) error {
	var evicted atomic.Bool
	request := f.beginReserving(size, func() { evicted.Store(true) })
	got := int64(0)
	defer func() {
		request.end()
		f.allocated.Add(-got)
		request.release()
	}()
	for got < size {
		piece := min(max(got, smallestPiece), largestPiece)
		if err := request.reserve(piece); err != nil {
			return err
		}
		got += piece
		now := f.allocated.Add(piece)
		for most := f.most.Load(); now > most && !f.most.CompareAndSwap(most, now); most = f.most.Load() {
		}
		time.Sleep(time.Millisecond)
		request.progress(int(piece))
		if evicted.Load() {
			return errEvicted
		}
	}
	return nil
}

// TestFlood: what a thousand large requests allocate never exceeds the limit. Small ones arrive meanwhile. Many large ones arrive even
// if all begin at the same time. If there is room for those that arrive, none is evicted.
func TestFlood(t *testing.T) {
	for between, least := range map[time.Duration]int64{0: 20, time.Millisecond: 300, 10 * time.Millisecond: 1000} {
		testFlood(t, between, least)
	}
}

// testFlood begins a thousand large requests with a time between them, and checks how many arrive at least.
func testFlood(t *testing.T, between time.Duration, least int64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		const limit = 16 << 20
		f := flood{arrivals: newArrivals(limit)}
		var group sync.WaitGroup
		var large atomic.Int64
		for i := range 1000 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * between)
				if f.receive(4<<20) == nil {
					large.Add(1)
				}
			})
		}
		small := 0
		for range 100 {
			if f.receive(32<<10) == nil {
				small++
			}
		}
		group.Wait()
		assert.LessOrEqual(t, f.most.Load(), int64(limit))
		assert.GreaterOrEqual(t, large.Load(), least)
		assert.Greater(t, small, 90)
		assert.Zero(t, f.bytes())
		assert.Zero(t, f.freeing)
	})
}

func TestMaxArriving(t *testing.T) {
	a, evicted := newArrivals(100), 0
	for range maxArriving + 3 {
		a.begin(func() { evicted++ })
	}
	assert.Equal(t, 3, evicted)
}

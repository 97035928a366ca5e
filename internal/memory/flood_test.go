// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFlood: an ordinary request is served within 5 seconds while very many others come again and again, which need more than the budget together:
// the largest ordinary ones, which wait for processors, or small ones.
func TestFlood(t *testing.T) {
	const budget, largest = 640 << 20, 20 << 20
	for _, flood := range []struct {
		senders, size, processors int64
		sizes                     []int64
	}{
		{300, largest, 2, []int64{16 << 10, 1 << 20, 4 << 20}},
		{1500, small, 1500, []int64{16 << 10, 1 << 20, 4 << 20, 16 << 20}},
	} {
		for _, size := range flood.sizes {
			t.Run(fmt.Sprintf("%d of %d/%d", flood.senders, flood.size, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := New(budget, 2*time.Second)
					end := startFlood(t, b, flood.senders, flood.size, flood.processors)
					for range 4 {
						assert.Less(t, timeOf(t, b, size), 5*time.Second)
						time.Sleep(100 * time.Millisecond)
					}
					end()
				})
			})
		}
	}
}

// TestOrdinaryWorksLong: small requests are served within 5 seconds while 64 of the largest ordinary ones hold all that they can get, for as long
// as they need if they share a processor.
func TestOrdinaryWorksLong(t *testing.T) {
	for _, size := range []int64{16 << 10, 1 << 20, 4 << 20} {
		t.Run(strconv.FormatInt(size, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := New(640<<20, 2*time.Second)
				var others sync.WaitGroup
				for range 64 {
					others.Go(func() { receive(t.Context(), b, 20<<20, func() { time.Sleep(20 * time.Second) }) })
				}
				synctest.Wait()
				for range 20 {
					assert.Less(t, timeOf(t, b, size), 5*time.Second)
					time.Sleep(500 * time.Millisecond)
				}
				others.Wait()
			})
		})
	}
}

// startFlood starts senders that come again and again, and lets them send for a while.
func startFlood(t *testing.T, b *Budget, senders, size, processors int64) (end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	working := make(chan struct{}, processors)
	var group sync.WaitGroup
	for i := range senders {
		group.Go(func() {
			time.Sleep(100 * time.Millisecond * time.Duration(i) / time.Duration(senders))
			for ctx.Err() == nil {
				receive(ctx, b, size, func() {
					working <- struct{}{}
					time.Sleep(100 * time.Millisecond)
					<-working
				})
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	time.Sleep(2 * time.Second)
	return func() {
		stop()
		group.Wait()
	}
}

// timeOf returns how long a request takes that is sent until it is served, for 10 seconds at most.
func timeOf(t *testing.T, b *Budget, size int64) time.Duration {
	t.Helper()
	begin := time.Now()
	for !receive(t.Context(), b, size, func() {}) && time.Since(begin) < 10*time.Second {
		time.Sleep(250 * time.Millisecond)
	}
	return time.Since(begin)
}

// TestFloodAndAccepted: large work on a message that was accepted gets its memory while very many ordinary requests come. Work that can never
// have it does not keep them waiting.
func TestFloodAndAccepted(t *testing.T) {
	const budget = 640 << 20
	for _, flood := range [][3]int64{{300, 20 << 20, 2}, {1500, small, 1500}} {
		t.Run(fmt.Sprint(flood), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := New(budget, 2*time.Second)
				message, queue := b.Begin(), b.Begin()
				message.Accept()
				queue.Accept()
				require.NoError(t, message.Grow(t.Context(), 64<<20))
				require.NoError(t, queue.Grow(t.Context(), 160<<20))
				end := startFlood(t, b, flood[0], flood[1], flood[2])
				for _, bytes := range []int64{22 << 20, 100 << 20, 150 << 20} {
					work := message.Work(0)
					assert.NoError(t, work.Grow(t.Context(), bytes))
					work.Release()
				}
				var stuck sync.WaitGroup
				ctx, stop := context.WithCancel(t.Context())
				for range 4 {
					stuck.Go(func() {
						for ctx.Err() == nil {
							work := message.Work(0)
							assert.Error(t, work.Grow(ctx, 500<<20), "with the queue, that is too much")
							time.Sleep(time.Second)
						}
					})
				}
				for range 4 {
					assert.Less(t, timeOf(t, b, 1<<20), 5*time.Second)
				}
				stop()
				stuck.Wait()
				end()
			})
		})
	}
}

// TestAcceptedWaitForEachOther: of work on accepted messages that needs more than the budget together, one after the other finishes, and an ordinary
// request is served meanwhile. They do not all wait for what the others hold.
func TestAcceptedWaitForEachOther(t *testing.T) {
	const budget, message, largest, step = 640 << 20, 100 << 20, 75 << 20, 5 << 20
	synctest.Test(t, func(t *testing.T) {
		b := New(budget, 2*time.Second)
		ctx, stop := context.WithCancel(t.Context())
		var workers sync.WaitGroup
		var finished atomic.Int32
		for range 4 {
			accepted := b.Begin().Accept()
			require.NoError(t, accepted.Grow(ctx, message))
			workers.Go(func() {
				defer accepted.Release()
				for ctx.Err() == nil {
					work, bytes := accepted.Work(0), int64(0)
					for bytes < largest && work.Grow(ctx, bytes+step) == nil {
						bytes += step
						time.Sleep(10 * time.Millisecond)
					}
					if bytes == largest {
						finished.Add(1)
					}
					work.Release()
				}
			})
		}
		for range 50 {
			assert.Less(t, timeOf(t, b, 1<<20), time.Second)
			time.Sleep(100 * time.Millisecond)
		}
		assert.Greater(t, finished.Load(), int32(50), "each takes 150 ms")
		stop()
		workers.Wait()
	})
}

// TestUsesKept: a message that a queue holds, or has grown when little was free, keeps nothing from the work on other messages.
func TestUsesKept(t *testing.T) {
	type grower func(r *Reservation, mib int64) *Reservation
	for name, test := range map[string]func(b *Budget, grown grower){
		"part of a message": func(b *Budget, grown grower) {
			message, batch := grown(b.Begin().Accept(), 500), grown(b.Begin().Accept(), 20)
			part := grown(batch.Work(0), 60)
			part.Retain()
			grown(batch.Work(0), 30).Release()
			batch.Release()
			grown(part.Work(0), 30).Release()
			grown(message.Work(0), 30).Release()
		},
		"ordinary": func(b *Budget, grown grower) {
			grown(grown(b.Begin().Accept(), 500).Work(0), 105)
			grown(grown(b.Begin().Accept(), 10).Work(0), 10)
		},
		"others released": func(b *Budget, grown grower) {
			other := grown(b.Begin().Accept(), 520)
			grown(b.Begin().Accept(), 60)
			other.Release()
			grown(b.Begin().Accept(), 490)
			grown(b.Begin().Accept(), 30)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test(New(640<<20, 2*time.Second), func(r *Reservation, mib int64) *Reservation {
					begin := time.Now()
					require.NoError(t, r.Grow(t.Context(), mib<<20))
					assert.Zero(t, time.Since(begin))
					return r
				})
			})
		})
	}
}

// small is the size that a request reserves at once.
const small = 640 << 10

// receive reserves size bytes by doubling, as a body that arrives, and calls work with them.
func receive(ctx context.Context, b *Budget, size int64, work func()) bool {
	r := b.Begin()
	defer r.Release()
	for bytes := min(small, size); ; bytes = min(2*bytes, size) {
		if r.Grow(ctx, bytes) != nil {
			return false
		}
		if bytes == size {
			work()
			return true
		}
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// reserve returns a new reservation of this many bytes, or the error of Grow.
func reserve(ctx context.Context, b *Budget, bytes int64) (*Reservation, error) {
	r := b.Begin()
	err := r.Grow(ctx, bytes)
	return r, err
}

func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(800, time.Second)
		first, err := reserve(t.Context(), b, 600)
		require.NoError(t, err)
		require.NoError(t, first.Grow(t.Context(), 500), "it has them already")
		_, err = reserve(t.Context(), b, 701)
		require.ErrorIs(t, err, ErrTooLarge)
		assert.ErrorContains(t, err, "needs 701 bytes, a request may have 700")
		require.ErrorIs(t, first.Grow(t.Context(), 701), ErrTooLarge)

		begin := time.Now()
		_, err = reserve(t.Context(), b, 101)
		require.ErrorIs(t, err, ErrExhausted)
		assert.Equal(t, time.Second, time.Since(begin))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = reserve(ctx, b, 101)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		time.AfterFunc(time.Millisecond, func() { first.Shrink(500) })
		second, err := reserve(t.Context(), b, 101)
		require.NoError(t, err)
		first.Release()
		require.NoError(t, second.Grow(t.Context(), 700))
		second.Release()
		used, peak := b.Used()
		assert.Zero(t, used)
		assert.Equal(t, int64(700), peak)
	})
}

// growth is a reservation that waits for more bytes.
type growth struct {
	name  string
	r     *Reservation
	bytes int64
}

// orderOf lets reservations wait, one after the other, and returns the order in which they are served after free.
func orderOf(t *testing.T, free func(), all ...growth) (order []string) {
	t.Helper()
	var group sync.WaitGroup
	for _, g := range all {
		group.Go(func() {
			assert.NoError(t, g.r.Grow(t.Context(), g.bytes))
			order = append(order, g.name)
			time.Sleep(time.Millisecond)
			g.r.Release()
		})
		synctest.Wait()
	}
	free()
	group.Wait()
	return order
}

// TestGrowingFirst: a reservation that holds bytes is served before one that holds none, even if the latter is older.
func TestGrowingFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(800, time.Minute)
		newcomer := must.Get(reserve(t.Context(), b, 0))(t)
		holder := must.Get(reserve(t.Context(), b, 100))(t)
		other := must.Get(reserve(t.Context(), b, 550))(t)
		got := orderOf(t, other.Release, growth{"newcomer", newcomer, 600}, growth{"holder", holder, 700})
		assert.Equal(t, []string{"holder", "newcomer"}, got)
	})
}

// TestGrowingWithoutBody: a request that has no body to read has begun, as one whose body has arrived.
func TestGrowingWithoutBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(800, time.Minute)
		older := must.Get(b.Arrive(t.Context(), 100, nil))(t)
		younger := must.Get(reserve(t.Context(), b, 100))(t)
		other := must.Get(reserve(t.Context(), b, 500))(t)
		got := orderOf(t, other.Release, growth{"younger", younger, 600}, growth{"older", older.Reservation, 600})
		assert.Equal(t, []string{"older", "younger"}, got)
	})
}

// TestOldestFirst: of large reservations that wait, the oldest is served first, even if a younger one would fit before.
func TestOldestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(800, time.Minute)
		holder := must.Get(reserve(t.Context(), b, 500))(t)
		older := must.Get(reserve(t.Context(), b, 0))(t)
		younger := must.Get(reserve(t.Context(), b, 0))(t)
		free := func() {
			holder.Shrink(250) // The younger one would fit.
			synctest.Wait()
			holder.Release()
		}
		got := orderOf(t, free, growth{"younger", younger, 400}, growth{"older", older, 600})
		assert.Equal(t, []string{"older", "younger"}, got)
	})
}

// TestOldestOrdinaryFirst: many small reservations do not pass one that is ordinary, too, and that waits for more bytes than one of them frees.
func TestOldestOrdinaryFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(3200, time.Minute)
		large := must.Get(reserve(t.Context(), b, 2800))(t)
		var small []*Reservation
		for range 5 {
			small = append(small, must.Get(reserve(t.Context(), b, 36))(t))
		}
		older := must.Get(reserve(t.Context(), b, 0))(t)
		time.Sleep(b.wait / 2)
		younger := must.Get(reserve(t.Context(), b, 0))(t)
		free := func() {
			for _, r := range small {
				r.Release() // After the first one, the younger one would fit.
				synctest.Wait()
			}
		}
		got := orderOf(t, free, growth{"older", older, 100}, growth{"younger", younger, 50})
		assert.Equal(t, []string{"older", "younger"}, got)
		large.Release()
	})
}

// TestKeptForOrdinary: ordinary reservations get the kept part of the budget while large ones hold the rest and wait for more, and small ones get
// their part of it while ordinary ones hold the rest.
func TestKeptForOrdinary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1024, time.Second)
		large, err := reserve(t.Context(), b, 1024-128)
		require.NoError(t, err)
		_, err = reserve(t.Context(), b, 35)
		require.ErrorIs(t, err, ErrExhausted)
		var others []*Reservation
		for range 2 {
			r := must.Get(reserve(t.Context(), b, 10))(t)
			require.NoError(t, r.Grow(t.Context(), 32))
			require.ErrorIs(t, r.Grow(t.Context(), 35), ErrExhausted, "it would be large")
			others = append(others, r)
		}
		_, err = reserve(t.Context(), b, 9)
		require.ErrorIs(t, err, ErrExhausted)
		for range 8 {
			r := must.Get(reserve(t.Context(), b, 4))(t)
			require.NoError(t, r.Grow(t.Context(), 8))
			require.ErrorIs(t, r.Grow(t.Context(), 9), ErrExhausted, "it would not be small")
			others = append(others, r)
		}
		_, err = reserve(t.Context(), b, 1)
		require.ErrorIs(t, err, ErrExhausted)
		for _, r := range append(others, large) {
			r.Release()
		}
	})
}

// TestAccepted: a reservation of an accepted message may use the whole budget, and does not give up in favor of older ones.
func TestAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1024, time.Second)
		held, err := reserve(t.Context(), b, 512) // by batches and queues
		require.NoError(t, err)
		r := must.Get(reserve(t.Context(), b, 64))(t)
		require.ErrorIs(t, r.Grow(t.Context(), 512), ErrExhausted)
		r.Accept()
		require.NoError(t, r.Grow(t.Context(), 512))
		r.Shrink(500)
		var group sync.WaitGroup
		group.Go(func() { assert.ErrorIs(t, held.Grow(t.Context(), 600), ErrExhausted) })
		synctest.Wait()
		group.Go(func() { assert.NoError(t, r.Grow(t.Context(), 600)) })
		synctest.Wait()
		other := must.Get(reserve(t.Context(), b, 1))(t)
		held.Shrink(400)
		group.Wait()
		r.Release()
		held.Release()
		other.Release()
	})
}

// TestNoDeadlock: if reservations wait for each other, the youngest fail at once, and the oldest gets its bytes.
func TestNoDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(800, time.Hour)
		var all []*Reservation
		for range 5 {
			r := must.Get(reserve(t.Context(), b, 140))(t)
			all = append(all, r)
		}
		var failed atomic.Int64
		var group sync.WaitGroup
		begin := time.Now()
		for i, r := range all {
			group.Go(func() {
				err := r.Grow(t.Context(), 300)
				if err != nil {
					assert.ErrorIs(t, err, ErrExhausted)
					assert.NotZero(t, i, "the oldest")
					failed.Add(1)
				}
				r.Release()
			})
			synctest.Wait()
		}
		group.Wait()
		assert.Zero(t, time.Since(begin))
		assert.Positive(t, failed.Load())
		used, _ := b.Used()
		assert.Zero(t, used)
	})
}

// TestRoomForOrdinary: requests that were ordinary and wait as large ones leave the part that is kept for ordinary ones, the youngest first.
func TestRoomForOrdinary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(3200, time.Minute)
		working := must.Get(reserve(t.Context(), b, 2400))(t)
		var group sync.WaitGroup
		results := make([]error, 6)
		for i := range results {
			r := must.Get(reserve(t.Context(), b, 100))(t)
			group.Go(func() {
				results[i] = r.Grow(t.Context(), 500)
				r.Release()
			})
			synctest.Wait()
		}
		begin := time.Now()
		ordinary := must.Get(reserve(t.Context(), b, 100))(t)
		assert.LessOrEqual(t, time.Since(begin), pressureInterval)
		working.Release()
		group.Wait()
		for i, err := range results {
			assert.Equal(t, i == len(results)-1, errors.Is(err, ErrExhausted), "%d: %v", i, err)
		}
		ordinary.Release()
	})
}

// TestMessage: the part of a message stays reserved until its last holder has released it.
func TestMessage(t *testing.T) {
	b := New(100_000, 0)
	request := must.Get(reserve(t.Context(), b, 60))(t)
	message := request.Split(40)
	assert.Equal(t, int64(20), request.Bytes())
	request.Release()
	ctx := NewContext(t.Context(), message)
	_, held, err := b.Message(ctx, pprofile.NewProfiles())
	require.NoError(t, err)
	assert.Same(t, message, held)
	message.Release()
	assert.Equal(t, int64(40), held.Bytes())
	held.Release()
	used, _ := b.Used()
	assert.Zero(t, used)

	pd := pprofile.NewProfiles()
	pd.Dictionary().StringTable().Append("text")
	bytes := MessageFactor * dictionary.MessageMemory(pd)
	ctx, measured, err := b.Message(t.Context(), pd)
	require.NoError(t, err)
	assert.Equal(t, bytes, FromContext(ctx).Bytes())
	other := must.Get(reserve(t.Context(), b, 5))(t)
	other.Join(measured)
	assert.Equal(t, 5+bytes, other.Bytes())
	measured.Release()
	other.Release()
	used, _ = b.Used()
	assert.Zero(t, used)
}

// TestMessageAfterSplit: of two consumers of a message, the first one holds its copy with the bytes of the reservation. The second one reserves again.
func TestMessageAfterSplit(t *testing.T) {
	b := New(100_000, 0)
	pd := pprofile.NewProfiles()
	pd.Dictionary().StringTable().Append("text")
	ctx, received, err := b.Message(t.Context(), pd)
	require.NoError(t, err)
	bytes := received.Bytes()
	held := received.Split(bytes)
	for range 2 {
		_, second, err := b.Message(ctx, pd)
		require.NoError(t, err)
		assert.Equal(t, bytes, second.Bytes())
		second.Release()
	}
	used, _ := b.Used()
	assert.Equal(t, 2*bytes, used)
	held.Release()
	received.Release()
	used, _ = b.Used()
	assert.Zero(t, used)
}

// TestNil: before its start a component has no budget, and then its reservations are nil. Nothing is limited.
func TestNil(t *testing.T) {
	none := must.Get(reserve(t.Context(), nil, 1<<60))(t)
	require.NoError(t, none.Grow(t.Context(), 1<<61))
	assert.Zero(t, none.Bytes())
	assert.Nil(t, none.Split(1))
	none.Retain().Release()
	none.Accept()
	none.Join(none)
	none.Shrink(0)
}

// TestNeverAboveSize: many reservations grow and shrink at the same time, and never exceed the budget.
func TestNeverAboveSize(t *testing.T) {
	const size = 1000
	b := New(size, time.Millisecond)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 200 {
				r, err := reserve(t.Context(), b, 1+rand.Int64N(size*7/8))
				if err != nil {
					assert.ErrorIs(t, err, ErrExhausted)
					continue
				}
				_ = r.Grow(t.Context(), 1+rand.Int64N(size))
				r.Release()
			}
		})
	}
	group.Wait()
	used, peak := b.Used()
	assert.Zero(t, used)
	assert.LessOrEqual(t, peak, int64(size))
}

// TestAdd: bytes that are allocated anyway are counted at once, also above the budget.
func TestAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100, time.Minute)
		r := must.Get(reserve(t.Context(), b, 80))(t)
		counted := b.Begin()
		counted.Add(33)
		used, _ := b.Used()
		assert.Equal(t, int64(113), used)
		time.AfterFunc(time.Second, func() { counted.Add(-33) })
		begin := time.Now()
		waiting := must.Get(reserve(t.Context(), b, 3))(t)
		assert.Equal(t, time.Second, time.Since(begin))
		waiting.Release()
		r.Release()
		used, _ = b.Used()
		assert.Zero(t, used)
	})
}

// TestWork: if the work on messages waits for each other, that on the youngest fails at once, and that on the oldest gets its bytes.
func TestWork(t *testing.T) {
	work := func(message *Reservation) *Reservation { return message.Work(0) }
	onPart := func(message *Reservation) *Reservation { return message.Work(50).Work(0) }
	for _, begin := range []func(*Reservation) *Reservation{work, onPart} {
		synctest.Test(t, func(t *testing.T) {
			b := New(800, time.Hour)
			var messages []*Reservation
			for range 3 {
				messages = append(messages, must.Get(reserve(t.Context(), b, 220))(t))
			}
			var group sync.WaitGroup
			results := make([]error, len(messages))
			for i, message := range messages {
				group.Go(func() {
					work := begin(message)
					results[i] = work.Grow(t.Context(), 150)
					time.Sleep(time.Second)
					for r := work; r != nil; r = r.message {
						r.Release()
					}
				})
				synctest.Wait()
			}
			began := time.Now()
			group.Wait()
			assert.NoError(t, results[0])
			assert.ErrorIs(t, results[2], ErrExhausted)
			assert.LessOrEqual(t, time.Since(began), 3*time.Second)
			used, _ := b.Used()
			assert.Zero(t, used)
			message := must.Get(reserve(t.Context(), b, 600))(t)
			assert.ErrorIs(t, begin(message).Grow(t.Context(), 150), ErrTooLarge, "beside the message")
		})
	}
}

// TestWorkWithBytesOfTheMessage: a part of a message begins with bytes of the message, and needs the rest beside it. They return to the message
// unless that is gone.
func TestWorkWithBytesOfTheMessage(t *testing.T) {
	b := New(800, time.Millisecond)
	used := func() int64 {
		bytes, _ := b.Used()
		return bytes
	}
	message := must.Get(reserve(t.Context(), b, 400))(t)
	part := message.Work(300)
	assert.Equal(t, []int64{100, 300, 400}, []int64{message.Bytes(), part.Bytes(), used()})
	require.NoError(t, part.Grow(t.Context(), 500))
	require.ErrorIs(t, part.Grow(t.Context(), 650), ErrTooLarge, "beside the 100 of the message, above the 700 of a large request")
	part.Release()
	assert.Equal(t, []int64{400, 400}, []int64{message.Bytes(), used()})

	queued := message.Work(1000)
	assert.Equal(t, int64(400), queued.Bytes())
	message.Release()
	assert.Equal(t, int64(400), used())
	queued.Release()
	assert.Zero(t, used())
}

// TestManyWait: of the requests that have nothing yet, the last is refused at once if very many wait. Work that has begun may wait.
func TestManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1<<20, time.Second)
		begun := must.Get(reserve(t.Context(), b, 1))(t)
		others := b.Begin()
		others.Add(1<<20 - 1)
		var group sync.WaitGroup
		served := atomic.Int64{}
		for range maxWaiters {
			group.Go(func() {
				if r, err := reserve(t.Context(), b, 1); assert.NoError(t, err) {
					served.Add(1)
					r.Release()
				}
			})
		}
		group.Go(func() { assert.NoError(t, begun.Grow(t.Context(), 2)) })
		synctest.Wait()
		before := time.Now()
		_, err := reserve(t.Context(), b, 1)
		require.ErrorIs(t, err, ErrExhausted)
		require.ErrorContains(t, err, "1000 other requests wait")
		assert.Equal(t, before, time.Now())
		others.Release()
		group.Wait()
		assert.EqualValues(t, maxWaiters, served.Load())
	})
}

func TestProcessMemory(t *testing.T) {
	assert.Greater(t, processMemory(), int64(64<<20))
	assert.Equal(t, processMemory()/100*DefaultPercentage, PartOfProcess(DefaultPercentage))
}

// TestCanceled: the error of work whose context has ended says so, and why.
func TestCanceled(t *testing.T) {
	b := New(100, time.Minute)
	r := must.Get(reserve(t.Context(), b, 60))(t)
	defer r.Release()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the client has left")
	cancel(why)
	_, waited := reserve(ctx, b, 40)
	for _, err := range []error{waited, r.Meter(ctx, 60).Continue()} {
		require.ErrorIs(t, err, ErrCanceled)
		require.ErrorIs(t, err, why)
	}
}

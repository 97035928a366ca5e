// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// testFactor is the workFactor of these tests.
const testFactor = 4

func TestRead(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 30_000)
	for name, test := range map[string]struct {
		announced, size int64
		capacity        int
	}{
		"announced":         {300_000, 1 << 30, 300_001},
		"announced, large":  {300_000, 4 << 20, 300_001},
		"of unknown length": {-1, 1 << 30, 512 << 10},
		"announced wrongly": {3, 1 << 30, 512 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			b := New(test.size, 0)
			a := must.Get(b.Arrive(t.Context(), 1000, nil))(t)
			got := must.Get(a.Read(t.Context(), bytes.NewReader(content), test.announced, testFactor))(t)
			assert.Equal(t, content, got)
			assert.LessOrEqual(t, cap(got), test.capacity)
			assert.GreaterOrEqual(t, a.Bytes(), int64(1000+cap(got)))
			a.Release()
			used, _ := b.Used()
			assert.Zero(t, used)
		})
	}
	t.Run("nothing", func(t *testing.T) {
		a, err := New(1000, 0).Arrive(t.Context(), 10, nil)
		require.NoError(t, err)
		_, err = a.Read(t.Context(), strings.NewReader(""), 0, testFactor)
		assert.ErrorIs(t, err, io.EOF)
	})
	t.Run("more than the budget", func(t *testing.T) {
		for _, announced := range []int64{1000, 1 << 62} {
			a, err := New(1000, 0).Arrive(t.Context(), 10, nil)
			require.NoError(t, err)
			_, err = a.Read(t.Context(), strings.NewReader("x"), announced, testFactor)
			assert.ErrorIs(t, err, ErrTooLarge)
		}
	})
}

// sender is a body that sends what it gets, until it is aborted.
type sender struct {
	pieces  chan string
	aborted chan struct{}
	once    sync.Once
}

var errAborted = errors.New("aborted")

func newSender() *sender { return &sender{pieces: make(chan string), aborted: make(chan struct{})} }

func (s *sender) abort() { s.once.Do(func() { close(s.aborted) }) }

func (s *sender) Read(p []byte) (int, error) {
	select {
	case piece, more := <-s.pieces:
		if !more {
			return 0, io.EOF
		}
		return copy(p, piece), nil
	case <-s.aborted:
		return 0, errAborted
	}
}

// begin sends the first buffer of a body.
func (s *sender) begin() {
	s.pieces <- "x"
	s.pieces <- strings.Repeat("x", firstBytes-1)
}

// arrive begins a request that reads from a sender in another goroutine.
func arrive(t *testing.T, b *Budget, announced int64) (*sender, <-chan error) {
	t.Helper()
	s, result := newSender(), make(chan error, 1)
	a := must.Get(b.Arrive(t.Context(), 10, s.abort))(t)
	go func() {
		defer a.Release()
		_, err := a.Read(context.WithoutCancel(t.Context()), s, announced, testFactor)
		result <- err
	}()
	return s, result
}

// TestStalledEnds: a request that has stalled keeps its memory as long as nobody waits, and is ended as soon as another one does.
func TestStalledEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1<<20, 2*time.Second)
		stalled, result := arrive(t, b, 700<<10)
		stalled.begin()
		synctest.Wait()
		time.Sleep(time.Minute)
		select {
		case err := <-result:
			t.Fatal("ended without need", err)
		default:
		}
		begin := time.Now()
		r := must.Get(reserve(t.Context(), b, 600<<10))(t)
		assert.LessOrEqual(t, time.Since(begin), 2*pressureInterval)
		require.ErrorIs(t, <-result, ErrStalled)
		r.Release()
	})
}

// TestProgressIsKept: a large request whose body arrives is not ended within maxArrivalTime, also if it has waited for memory; the one that
// waits gets its memory afterwards.
func TestProgressIsKept(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			b := New(1<<20, maxArrivalTime)
			held := must.Get(reserve(t.Context(), b, 700<<10))(t)
			body, result := arrive(t, b, 700<<10)
			body.begin()
			waited := make(chan error, 1)
			go func() {
				r, err := reserve(t.Context(), b, 600<<10)
				r.Release()
				waited <- err
			}()
			time.Sleep(wait)
			held.Release()
			piece := strings.Repeat("x", 32<<10)
			for range 18 {
				time.Sleep(100 * time.Millisecond)
				body.pieces <- piece
			}
			close(body.pieces)
			require.NoError(t, <-result)
			require.NoError(t, <-waited)
		})
	}
}

// TestLateEnds: a request whose body arrives, but never ends, is ended after maxArrivalTime when another one waits.
func TestLateEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(8<<20, 2*maxArrivalTime)
		body, result := arrive(t, b, 7<<20-200<<10)
		var sending sync.WaitGroup
		defer sending.Wait()
		sending.Go(func() {
			piece := strings.Repeat("x", 64<<10)
			for {
				select {
				case body.pieces <- piece[:64<<10]:
					time.Sleep(200 * time.Millisecond)
				case <-body.aborted:
					return
				}
			}
		})
		time.Sleep(time.Second)
		begin := time.Now()
		r := must.Get(reserve(t.Context(), b, 6<<20))(t)
		assert.LessOrEqual(t, time.Since(begin), maxArrivalTime+2*pressureInterval)
		require.ErrorIs(t, <-result, ErrStalled)
		r.Release()
	})
}

// TestEndStalled: a server that has no connection left ends all requests that have stalled, though nobody waits for memory.
func TestEndStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1<<20, time.Second)
		_, ended := arrive(t, b, 100)
		_, more := arrive(t, b, 100)
		time.Sleep(stallTime)
		third, arrives := arrive(t, b, 100)
		synctest.Wait()
		b.EndStalled()
		require.ErrorIs(t, <-ended, ErrStalled)
		require.ErrorIs(t, <-more, ErrStalled)
		third.pieces <- "x"
		close(third.pieces)
		require.NoError(t, <-arrives)
	})
}

// TestBodyBeginsLate: the time in which a target works until its answer begins is not that in which the answer arrives.
func TestBodyBeginsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, body := New(1<<20, time.Second), newSender()
		a := must.Get(b.Arrive(t.Context(), 10, body.abort))(t)
		defer a.Release()
		time.Sleep(2 * maxArrivalTime)
		result := make(chan error, 1)
		go func() {
			_, err := a.Read(context.WithoutCancel(t.Context()), body, -1, testFactor)
			result <- err
		}()
		body.pieces <- "x"
		synctest.Wait()
		b.EndStalled()
		body.pieces <- "x"
		close(body.pieces)
		require.NoError(t, <-result)
	})
}

// TestOnlyAsManyAsNeeded: of many stalled requests, only the oldest are ended, until there is room.
func TestOnlyAsManyAsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(4<<20, 2*time.Second)
		var results []<-chan error
		var senders []*sender
		for range 48 { // each has 64 KiB
			s, result := arrive(t, b, -1)
			s.pieces <- "x"
			synctest.Wait()
			results, senders = append(results, result), append(senders, s)
		}
		time.Sleep(stallTime)
		r := must.Get(reserve(t.Context(), b, 1<<20))(t)
		synctest.Wait()
		ended := 0
		for i, result := range results {
			select {
			case err := <-result:
				assert.ErrorIs(t, err, ErrStalled)
				assert.Equal(t, ended, i, "the oldest are ended first")
				ended++
			default:
			}
		}
		assert.Positive(t, ended)
		assert.Less(t, ended, 16)
		r.Release()
		for _, s := range senders {
			s.abort()
		}
	})
}

// TestLargeWaitsAtTheDoor: large requests that exceed the budget together wait before they read, and all arrive.
func TestLargeWaitsAtTheDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(16<<20, time.Minute)
		content := bytes.Repeat([]byte("x"), 2<<20)
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				a, err := b.Arrive(t.Context(), 10, func() {})
				require.NoError(t, err)
				defer a.Release()
				got := must.Get(a.Read(t.Context(), bytes.NewReader(content), int64(len(content)), testFactor))(t)
				assert.Len(t, got, len(content))
				assert.NoError(t, a.Grow(t.Context(), testFactor*int64(len(content))))
				time.Sleep(time.Millisecond)
			})
		}
		group.Wait()
		used, peak := b.Used()
		assert.Zero(t, used)
		assert.LessOrEqual(t, peak, b.Size())
	})
}

// endings has requests whose progress is unknown, and notes which are ended.
type endings struct {
	*Budget
	share Share
	ended []string
}

func (e *endings) begin(t *testing.T, names ...string) (last *Arrival) {
	t.Helper()
	for _, name := range names {
		last = e.ArriveCounted(&e.share, 10, func() { e.ended = append(e.ended, name) })
	}
	return last
}

func (e *endings) end() []string {
	e.ended = nil
	e.EndMost(false)
	return e.ended
}

// TestEndAll: if the process has no memory, all requests end whose body is arriving, or whose stream stays open.
func TestEndAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := endings{Budget: New(1<<30, 0)}
		_, err := b.Arrive(t.Context(), 10, func() { t.Error("its body is counted") })
		require.NoError(t, err)
		b.begin(t, "open").Received()
		b.begin(t, "arriving")
		b.begin(t, "arrived").End()
		b.EndMost(true)
		assert.Equal(t, []string{"open", "arriving"}, b.ended)
	})
}

// TestEndMost: of requests whose progress is unknown, those that take too long end, and then those that began last. One that has just begun
// and one that has arrived are left.
func TestEndMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := endings{Budget: New(1<<20, 0)}
		assert.Empty(t, b.end())
		_, err := b.Arrive(t.Context(), 10, func() { t.Error("its progress is known") })
		require.NoError(t, err)
		b.begin(t, "too long", "also too long")
		time.Sleep(maxArrivalTime - 2*stallTime)
		require.True(t, b.begin(t, "arrived").End())
		b.begin(t, "first", "second", "third", "fourth", "fifth")
		time.Sleep(2 * stallTime)
		b.begin(t, "new")
		assert.Equal(t, []string{"too long", "also too long", "second", "third", "fourth", "fifth"}, b.end())
		assert.Equal(t, []string{"first"}, b.end())
		assert.Empty(t, b.end())
		time.Sleep(stallTime)
		assert.Equal(t, []string{"new"}, b.end())
	})
}

// TestReceived: a request whose body has arrived leaves its share. If its sender does not end it, it has stalled.
func TestReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := endings{Budget: New(1<<20, stallTime+2*pressureInterval)}
		b.begin(t, "arriving")
		begun := b.begin(t, "begun")
		begun.Received()
		require.True(t, begun.End())
		b.begin(t, "open").Received()
		b.begin(t, "younger").Received()
		assert.EqualValues(t, 10, b.share.Used())

		more := b.Size() - b.Size()/keptPart
		_, err := reserve(t.Context(), b.Budget, more-35)
		require.ErrorIs(t, err, ErrExhausted, "the requests that end keep their memory here")
		assert.Equal(t, []string{"open"}, b.ended)
		assert.Equal(t, []string{"younger", "arriving"}, b.end())
	})
}

// TestEndMostKeepsFirst: those that began first are left, also when only they are old enough to be ended, and while others have just
// begun and hold more than they, or have ended and still hold memory.
func TestEndMostKeepsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := endings{Budget: New(2*firstPart, 0)}
		b.begin(t, "first", "second", "third", "fourth")
		time.Sleep(time.Millisecond)
		b.begin(t, slices.Repeat([]string{"other"}, 16)...)
		time.Sleep(stallTime - time.Millisecond)
		assert.Empty(t, b.end())
		time.Sleep(time.Millisecond)
		assert.Equal(t, slices.Repeat([]string{"other"}, 11), b.end(), "three quarters of 14, without the quarter that began first")
		assert.Equal(t, slices.Repeat([]string{"other"}, 4), b.end())
		assert.Equal(t, []string{"other"}, b.end())
		assert.Empty(t, b.end())
		b.begin(t, "new")
		time.Sleep(stallTime)
		assert.Equal(t, []string{"new"}, b.end())
		assert.Empty(t, b.end())
		time.Sleep(2 * stallTime)
		assert.Equal(t, []string{"third", "fourth"}, b.end())
		assert.Empty(t, b.end())
		time.Sleep(maxArrivalTime)
		assert.Equal(t, []string{"first", "second"}, b.end())
	})
}

// TestEndMostWhileOthersCome: the first ones stay while others begin again and again. Of those that began later, no more stay than a third
// of what comes meanwhile.
func TestEndMostWhileOthersCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := endings{Budget: New(2*firstPart, 0)}
		b.begin(t, "first", "second")
		b.begin(t, slices.Repeat([]string{"old"}, 40)...)
		var ended []string
		for range 40 {
			b.begin(t, slices.Repeat([]string{"new"}, 9)...)
			time.Sleep(stallTime / 4)
			ended = append(ended, b.end()...)
		}
		assert.NotContains(t, ended, "first")
		assert.NotContains(t, ended, "second")
		old := slices.DeleteFunc(ended, func(name string) bool { return name != "old" })
		assert.GreaterOrEqual(t, len(old), 40-9/3)
	})
}

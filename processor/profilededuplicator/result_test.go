// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// sent is a message whose sender waits for the answer.
type sent struct{ atomic.Pointer[answer] }

type answer struct {
	err  error
	took time.Duration
}

// errNone is the error of a sender without an answer yet.
var errNone = errors.New("there is no answer yet")

func (s *sent) answered() bool { return s.Load() != nil }

func (s *sent) err() error {
	if !s.answered() {
		return errNone
	}
	return s.Load().err
}

// send sends a message from a new goroutine, which waits for the answer.
func (f *fixture) send(ctx context.Context, pd pprofile.Profiles) *sent {
	s := &sent{}
	begin := time.Now()
	go func() {
		err := f.ConsumeProfiles(ctx, pd)
		s.Store(&answer{err, time.Since(begin)})
	}()
	synctest.Wait()
	return s
}

func TestSendersWaitForTheResult(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{answer: func(int, pprofile.Profiles) error {
			time.Sleep(time.Second)
			return nil
		}}
		f := start(t, next, waitOf(nil))
		first := f.send(t.Context(), upload("checkout", 1, 1))
		time.Sleep(50 * time.Millisecond)
		second := f.send(t.Context(), upload("checkout", 2, 2))
		pass(150*time.Millisecond + time.Second - 1)
		assert.Equal(t, 1, next.calls(), "the batch is being delivered")
		assert.False(t, first.answered() || second.answered())
		pass(1)
		assert.Equal(t, &answer{took: 1200 * time.Millisecond}, first.Load())
		assert.Equal(t, &answer{took: 1150 * time.Millisecond}, second.Load())
		assert.Equal(t, map[string]int64{"checkout/1": 1, "checkout/2": 2}, next.totals())
	})
}

// All senders of a batch get its error unchanged. The profiles do not count as lost, since the senders can retry.
func TestErrorsGoToAllSendersOfTheBatch(t *testing.T) {
	for name, err := range map[string]error{
		"for now":  status.Error(codes.ResourceExhausted, "queue is full"),
		"for good": consumererror.NewPermanent(status.Error(codes.InvalidArgument, "too old")),
	} {
		t.Run(name, func(t *testing.T) {
			eachPooling(t, func(t *testing.T) {
				f := start(t, &sink{answer: refuse(1, err)}, waitOf(nil))
				first := f.send(t.Context(), upload("checkout", 1, 1))
				second := f.send(t.Context(), upload("cart", 2, 2))
				pass(200 * time.Millisecond)
				for _, s := range []*sent{first, second} {
					require.True(t, s.answered(), "at once")
					require.ErrorIs(t, s.err(), err)
					assert.Equal(t, consumererror.IsPermanent(err), consumererror.IsPermanent(s.err()))
					assert.Equal(t, status.Code(err), status.Code(s.err()))
				}
				assert.Empty(t, f.lost())
				again := f.send(t.Context(), upload("checkout", 1, 1))
				pass(time.Second)
				require.NoError(t, again.err())
				assert.Equal(t, map[string]int64{"checkout/1": 1}, f.next.totals())
			})
		})
	}
}

// A batch is split. Only the senders with profiles in a refused part get the error, even if joining equal resources has
// moved their profiles.
func TestErrorsGoToNoOtherSenders(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{answer: func(_ int, pd pprofile.Profiles) error {
			for key := range totals(pd) {
				if key == "checkout/3" {
					return errNotNow
				}
			}
			return nil
		}}
		f := start(t, next, waitOf(func(cfg *BatchConfig) { cfg.MaxSamples = 5 }))
		refused := f.send(t.Context(), together(upload("checkout", 1, 1), upload("cart", 2, 1)))
		other := f.send(t.Context(), upload("cart", 4, 1, 1))
		also := f.send(t.Context(), upload("checkout", 3, 1, 1, 1))
		pass(time.Second)
		require.ErrorIs(t, also.err(), errNotNow)
		require.ErrorIs(t, refused.err(), errNotNow, "one of its profiles was in the refused part")
		require.NoError(t, other.err())
		assert.Equal(t, map[string]int64{"cart/4": 2}, next.totals())
	})
}

// A retryable error has precedence over a permanent one.
func TestResults(t *testing.T) {
	permanent := consumererror.NewPermanent(errNotNow)
	lost := []lostPart{{0, 1, permanent}, {1, 2, errNotNow}, {2, 2, permanent}}
	j := joined{sources: []int{1, 0, 2, 3}}
	assert.Equal(t, []error{errNotNow, permanent, errNotNow, nil}, j.results(4, lost))
	j.merged = true
	assert.Equal(t, []error{errNotNow, errNotNow, errNotNow, errNotNow}, j.results(4, lost), "after merging, the messages of a part are unknown")
	assert.Equal(t, []error{nil, nil, nil, nil}, j.results(4, nil))
}

// The rest of a batch has profiles of several senders, so no sender may get and retry all of it.
func TestErrorsCarryNoProfilesOfOthers(t *testing.T) {
	for name, wrap := range map[string]func(error) error{
		"retryable": func(err error) error { return err },
		"permanent": consumererror.NewPermanent,
	} {
		t.Run(name, func(t *testing.T) {
			eachPooling(t, func(t *testing.T) {
				next := &sink{answer: func(_ int, pd pprofile.Profiles) error {
					return wrap(xconsumererror.NewProfiles(errNotNow, clone(pd)))
				}}
				f := start(t, next, waitOf(nil))
				s := f.send(t.Context(), upload("checkout", 1, 1))
				pass(time.Second)
				require.ErrorIs(t, s.err(), errNotNow)
				assert.NotErrorAs(t, s.err(), &xconsumererror.Profiles{})
				assert.Equal(t, name == "permanent", consumererror.IsPermanent(s.err()))
			})
		})
	}
}

// A sender whose context ends gets the error of the context. Its message is still delivered.
func TestSenderLeaves(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{}
		f := start(t, next, waitOf(nil))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		leaves := f.send(ctx, upload("checkout", 1, 1))
		stays := f.send(t.Context(), upload("checkout", 2, 2))
		pass(100 * time.Millisecond)
		require.ErrorIs(t, leaves.err(), context.DeadlineExceeded)
		assert.False(t, consumererror.IsPermanent(leaves.err()))
		assert.False(t, stays.answered())
		pass(100 * time.Millisecond)
		require.NoError(t, stays.err())
		assert.Equal(t, map[string]int64{"checkout/1": 1, "checkout/2": 2}, next.totals())
	})
}

// A copy of a held profile gets the result of the first copy. If the first one is not delivered, the copy is.
func TestRepeatedWhileHeld(t *testing.T) {
	for name, first := range map[string]error{"arrives": nil, "is refused": errNotNow} {
		t.Run(name, func(t *testing.T) {
			eachPooling(t, func(t *testing.T) {
				next := &sink{answer: refuse(1, first)}
				f := start(t, next, repeatedOf(waitOf(nil)))
				one := f.send(t.Context(), upload("checkout", 1, 1))
				two := f.send(t.Context(), upload("checkout", 1, 1))
				pass(200*time.Millisecond - 1)
				assert.False(t, two.answered(), "the batch is not flushed yet")
				pass(1)
				assert.Equal(t, first, one.err())
				assert.Equal(t, first == nil, two.answered())
				pass(200 * time.Millisecond)
				require.NoError(t, two.err())
				assert.Equal(t, map[string]int64{"checkout/1": 1}, next.totals(), "once")
			})
		})
	}
}

// A sender whose context has ended sends again while the first copy is in flight. It waits for a second, then gets a
// retryable error.
func TestSenderComesAgain(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{answer: func(int, pprofile.Profiles) error {
			time.Sleep(10 * time.Second)
			return nil
		}}
		f := start(t, next, repeatedOf(waitOf(nil)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		leaves := f.send(ctx, upload("checkout", 1, 1))
		pass(time.Second)
		require.ErrorIs(t, leaves.err(), context.DeadlineExceeded)
		early := f.send(t.Context(), upload("checkout", 1, 1))
		pass(time.Second)
		require.ErrorIs(t, early.err(), errInFlight)
		pass(10 * time.Second)
		late := f.send(t.Context(), upload("checkout", 1, 1))
		require.NoError(t, late.err())
		assert.Equal(t, map[string]int64{"checkout/1": 1}, next.totals())
	})
}

func TestAbandonedSendersAreAnswered(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		release := make(chan struct{})
		f := start(t, &sink{answer: func(int, pprofile.Profiles) error {
			<-release
			return nil
		}}, waitOf(nil))
		s := f.send(t.Context(), upload("checkout", 1, 1))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.Error(t, f.Shutdown(ctx))
		synctest.Wait()
		require.ErrorIs(t, s.err(), errAbandoned)
		assert.False(t, consumererror.IsPermanent(s.err()))
		close(release)
	})
}

// Many senders retry, and sometimes stop waiting. Each profile is delivered at least once, with drop_repeated exactly once.
// When a sender gets a successful answer, its profile was delivered.
func TestManySendersWhoWait(t *testing.T) {
	for _, pooling := range []bool{false, true} {
		for name, change := range map[string]func(func(*Config)) func(*Config){
			"at least once": func(change func(*Config)) func(*Config) { return change },
			"once":          repeatedOf,
		} {
			t.Run(fmt.Sprintf("%s, pooling=%t", name, pooling), func(t *testing.T) {
				setPooling(t, pooling)
				next := &sink{mutates: true, answer: func(call int, pd pprofile.Profiles) error {
					if call%3 == 0 {
						return xconsumererror.NewProfiles(errNotNow, pd)
					}
					return nil
				}}
				f := start(t, next, change(waitOf(func(cfg *BatchConfig) {
					cfg.Timeout, cfg.MaxSamples = 2*time.Millisecond, 7
				})))
				manySenders(t, f, name == "once")
			})
		}
	}
}

func manySenders(t *testing.T, f *fixture, once bool) {
	t.Helper()
	const each = 30
	want := map[string]int64{}
	var senders sync.WaitGroup
	for sender := range byte(8) {
		first := each*sender + 1
		for id := first; id < first+each; id++ {
			want[fmt.Sprintf("checkout/%d", id)] = int64(id)
		}
		senders.Go(func() {
			random := rand.New(rand.NewPCG(uint64(sender), 0))
			for id := first; id < first+each; id++ {
				for {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(10))*time.Millisecond)
					err := f.ConsumeProfiles(ctx, upload("checkout", id, int64(id)))
					cancel()
					if err == nil {
						break
					}
				}
				assert.Contains(t, f.next.totals(), fmt.Sprintf("checkout/%d", id))
			}
		})
	}
	senders.Wait()
	require.NoError(t, f.Shutdown(t.Context()))
	got := f.next.totals()
	if once {
		assert.Equal(t, want, got)
		return
	}
	for key, sum := range want {
		assert.Zero(t, got[key]%sum, key)
		assert.Positive(t, got[key], key)
	}
}

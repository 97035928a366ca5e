// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
)

// gate is a next consumer. Its calls block until reply is called.
type gate struct {
	sink
	answers chan error
}

func newGate() *gate {
	g := &gate{answers: make(chan error)}
	g.answer = func(int, pprofile.Profiles) error { return <-g.answers }
	return g
}

// reply answers the blocked call, and returns when all goroutines are blocked again.
func (g *gate) reply(err error) {
	g.answers <- err
	synctest.Wait()
}

// Even if the first takes very long, the others get an answer after a second, since they occupy request slots that others need.
func TestManyAtOnceAndTheFirstTakesLong(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		g := newGate()
		f := start(t, &g.sink, repeatedOf(nil))
		first := f.send(t.Context(), upload("checkout", 1, 1))
		var others []*sent
		for range 64 {
			others = append(others, f.send(t.Context(), upload("checkout", 1, 1)))
		}
		pass(time.Second)
		for _, other := range others {
			require.True(t, other.answered())
			require.ErrorIs(t, other.err(), errInFlight)
			assert.False(t, consumererror.IsPermanent(other.err()), "the sender may try again")
		}
		f.assertPoints(t, "refused_messages", points(64, because("in_flight")))
		pass(time.Hour)
		g.reply(nil)
		require.NoError(t, first.err())
	})
}

// Servers recover from panics. The ids of such a request must not stay in flight forever.
func TestTwoAtOnceAndTheFirstPanics(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		g := newGate()
		panics := true
		g.answer = func(int, pprofile.Profiles) error {
			err := <-g.answers
			if panics {
				panics = false
				panic("of the next consumer")
			}
			return err
		}
		f := start(t, &g.sink, repeatedOf(nil))
		go func() {
			defer func() { assert.NotNil(t, recover()) }()
			_ = f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1))
		}()
		synctest.Wait()
		second := f.send(t.Context(), upload("checkout", 1, 1))
		assert.False(t, second.answered())
		g.reply(nil)
		g.reply(nil)
		require.NoError(t, second.err())
		assert.Equal(t, map[string]int64{"checkout/1": 1}, g.totals())
	})
}

func TestOnlyTheRepeatedProfilesOfAMessageAreDropped(t *testing.T) {
	next := &sink{}
	f := start(t, next, repeatedOf(nil))
	require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1, 2, 3)))
	require.NoError(t, f.ConsumeProfiles(t.Context(),
		together(upload("checkout", 1, 1, 2, 3), upload("cart", 2, 5), upload("checkout", 2, 5), upload("checkout", 0, 7))))
	require.Len(t, next.taken(), 2)
	requireCanonical(t, next.taken()[1])
	assert.Equal(t, map[string]int64{"cart/2": 5, "checkout/0": 7}, totals(next.taken()[1]))
}

func TestIDsOfTenants(t *testing.T) {
	for _, change := range []func(*Config){
		func(cfg *Config) { cfg.DropRepeated.Get().MetadataKeys = []string{"x-tenant"} },
		batchOf(func(cfg *BatchConfig) { cfg.MetadataKeys = []string{"x-tenant"} }),
	} {
		eachPooling(t, func(t *testing.T) {
			next := &sink{}
			f := start(t, next, func(cfg *Config) {
				repeatedOf(nil)(cfg)
				change(cfg)
			})
			for range 2 {
				for _, tenant := range []string{"a", "b"} {
					require.NoError(t, f.ConsumeProfiles(from(t.Context(), "x-tenant", tenant), upload("checkout", 1, 1)))
				}
				time.Sleep(2 * time.Second)
			}
			assert.Equal(t, map[string]int64{"checkout/1": 2}, next.totals(), "one of each tenant")
		})
	}
}

// An invalid profile that was dropped or refused does not count as delivered, so that a valid copy is not a repeated one.
func TestInvalidProfilesAreNotDelivered(t *testing.T) {
	for _, batch := range []func(*Config){func(*Config) {}, batchOf(nil)} {
		for action, broken := range map[dedup.OnInvalid]int64{dedup.DropProfile: 0, dedup.Reject: 0, dedup.Pass: 7} {
			eachPooling(t, func(t *testing.T) {
				next := &sink{}
				f := start(t, next, repeatedOf(func(cfg *Config) {
					batch(cfg)
					cfg.OnInvalid = action
				}))
				err := f.ConsumeProfiles(t.Context(), together(spoil(upload("checkout", 1, 7)), upload("checkout", 2, 2)))
				assert.Equal(t, action == dedup.Reject, err != nil)
				time.Sleep(2 * time.Second)
				require.NoError(t, f.ConsumeProfiles(t.Context(), together(upload("checkout", 1, 1), upload("checkout", 2, 2))))
				pass(2 * time.Second)
				want := map[string]int64{"checkout/1": 1, "checkout/2": 2}
				if broken > 0 {
					want["checkout/1"] = broken
				}
				assert.Equal(t, want, next.totals(), action)
			})
		}
	}
}

// Many senders retry at the same time, with all kinds of errors. Each profile is delivered exactly once.
func TestSendersThatRetry(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"synchronous": repeatedOf(nil),
		"batch": repeatedOf(batchOf(func(cfg *BatchConfig) {
			cfg.Timeout, cfg.MaxSamples = 2*time.Millisecond, 7
			cfg.RetryConfig.InitialInterval = time.Millisecond
		})),
	} {
		t.Run(name, func(t *testing.T) {
			next := &sink{answer: func(call int, _ pprofile.Profiles) error {
				if call%3 == 0 {
					return errNotNow
				}
				return nil
			}}
			f := start(t, next, change)
			want := map[string]int64{}
			for id := range byte(60) {
				want[fmt.Sprintf("checkout/%d", id+1)] = int64(id) + 1
			}
			var senders sync.WaitGroup
			for sender := range 8 {
				senders.Go(func() {
					random := rand.New(rand.NewPCG(uint64(sender), 0))
					for _, i := range random.Perm(60) {
						id, other := byte(i+1), byte(random.IntN(60)+1)
						for {
							pd := together(upload("checkout", id, int64(id)), upload("checkout", other, int64(other)))
							if f.ConsumeProfiles(t.Context(), pd) == nil {
								break
							}
						}
					}
				})
			}
			senders.Wait()
			require.NoError(t, f.Shutdown(t.Context()))
			assert.Equal(t, want, next.totals())
		})
	}
}

// Equal profiles without a time cannot be distinguished from retries. One per ttl is passed on, however many come.
func TestEqualProfilesWithoutATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &sink{}
		f := start(t, next, repeatedOf(nil))
		for minute := range 21 {
			pd := upload("checkout", 1, 1)
			pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).SetTime(0)
			require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
			assert.Equal(t, minute/10+1, next.calls(), "one in the ttl of ten minutes, minute %d", minute)
			time.Sleep(time.Minute)
		}
		f.assertPoints(t, "repeated_profiles", points(18))
	})
}

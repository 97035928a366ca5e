// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

func TestBatchIsFlushedAfterTimeout(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{}
		f := start(t, next, batchOf(nil))
		for i := range byte(5) {
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", i+1, 1, 2)))
			time.Sleep(100 * time.Millisecond)
		}
		pass(500*time.Millisecond - 1)
		assert.Empty(t, next.taken(), "the first message waits for a second")
		pass(time.Nanosecond)
		require.Len(t, next.taken(), 1)
		requireCanonical(t, next.taken()[0])
		assert.Equal(t, 5, next.taken()[0].ProfileCount())
		assert.Equal(t, 1, next.taken()[0].ResourceProfiles().Len())
		assert.Equal(t, 5, next.taken()[0].Dictionary().StringTable().Len(), "each symbol of all five messages occurs once")

		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 9, 1)))
		pass(time.Second)
		assert.Len(t, next.taken(), 2, "the next batch has its own timeout")
	})
}

func TestBatchIsFlushedWhenFull(t *testing.T) {
	bytes := (&pprofile.ProtoMarshaler{}).ProfilesSize(upload("checkout", 1, 1, 2))
	for name, test := range map[string]struct{ maxSamples, maxBytes, profiles int }{
		"samples":   {4, 4_000_000, 2},
		"bytes":     {0, 2 * bytes, 2},
		"no limits": {0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			eachPooling(t, func(t *testing.T) {
				next := &sink{}
				f := start(t, next, batchOf(func(cfg *BatchConfig) { cfg.MaxSamples, cfg.MaxBytes = test.maxSamples, test.maxBytes }))
				for i := range byte(3) {
					require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", i+1, 1, 2)))
				}
				synctest.Wait()
				profiles := 0
				for _, pd := range next.taken() {
					profiles += pd.ProfileCount()
				}
				assert.Equal(t, test.profiles, profiles)
				assert.LessOrEqual(t, len(next.taken()), 1)
			})
		})
	}
}

// A single message may exceed the limits. It is split.
func TestLargeBatchIsSplit(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{}
		f := start(t, next, batchOf(func(cfg *BatchConfig) { cfg.MaxSamples = 3 }))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1, 2, 3, 4, 5, 6, 7)))
		synctest.Wait()
		require.Len(t, next.taken(), 3)
		sum := int64(0)
		for _, part := range next.taken() {
			requireCanonical(t, part)
			assert.LessOrEqual(t, part.SampleCount(), 3)
			for _, value := range totals(part) {
				sum += value
			}
		}
		assert.EqualValues(t, 28, sum)
	})
}

func TestTenantsAreNotJoined(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{}
		f := start(t, next, batchOf(func(cfg *BatchConfig) { cfg.MetadataKeys = []string{"X-Tenant", "x-zone"} }))
		clients := []map[string][]string{
			{"x-tenant": {"a"}},
			{"x-tenant": {"a"}, "x-zone": {"1"}},
			{"x-tenant": {"a", "1"}},
			{"x-tenant": {"a 1"}},
			{"x-tenant": {"b"}, "authorization": {"secret"}},
			{},
		}
		for round := range byte(2) {
			for i, values := range clients {
				ctx := client.NewContext(t.Context(), client.Info{Metadata: client.NewMetadata(values)})
				require.NoError(t, f.ConsumeProfiles(ctx, upload(fmt.Sprintf("service-%d", i), round+1, 1)))
			}
		}
		pass(time.Second)
		require.Len(t, next.taken(), len(clients))
		for i, pd := range next.taken() {
			require.Equal(t, 1, pd.ResourceProfiles().Len())
			assert.Equal(t, 2, pd.ProfileCount())
			var number int
			service, _ := pd.ResourceProfiles().At(0).Resource().Attributes().Get("service.name")
			_, err := fmt.Sscanf(service.Str(), "service-%d", &number)
			require.NoError(t, err)
			got := client.FromContext(next.contexts()[i]).Metadata
			assert.Equal(t, clients[number]["x-tenant"], got.Get("X-Tenant"))
			assert.Equal(t, clients[number]["x-zone"], got.Get("X-Zone"))
			assert.Empty(t, got.Get("authorization"), "only the configured keys are passed on")
		}
	})
}

// The context of the caller ends before the batch is flushed.
func TestBatchHasItsOwnContext(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		type key struct{}
		next := &sink{}
		f := start(t, next, batchOf(nil))
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		require.NoError(t, f.ConsumeProfiles(from(ctx, "x-tenant", "a"), upload("checkout", 1, 1)))
		cancel()
		pass(time.Second)
		require.Len(t, next.contexts(), 1)
		assert.NoError(t, next.contexts()[0].Err())
		assert.Nil(t, next.contexts()[0].Value(key{}))
		assert.Empty(t, client.FromContext(next.contexts()[0]).Metadata.Get("x-tenant"))
	})
}

func TestTenantsAreLimited(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{}
		f := start(t, next, batchOf(func(cfg *BatchConfig) {
			cfg.Timeout = time.Hour
			cfg.MetadataKeys = []string{"x-tenant"}
			cfg.MetadataCardinalityLimit = 2
		}))
		consume := func(tenant string, id byte) error {
			return f.ConsumeProfiles(from(t.Context(), "x-tenant", tenant), upload(tenant, id, 1))
		}
		require.NoError(t, consume("a", 1))
		require.NoError(t, consume("b", 2))
		require.NoError(t, consume("a", 3))
		err := consume("c", 4)
		require.ErrorContains(t, err, "metadata_cardinality_limit allows 2")
		assert.False(t, consumererror.IsPermanent(err), "it is retryable")

		// The refusal has flushed all batches, so that the sender need not wait for the timeout of an hour.
		synctest.Wait()
		assert.Len(t, next.taken(), 2)
		require.NoError(t, consume("c", 4))
		require.NoError(t, f.Shutdown(t.Context()))
		assert.Equal(t, map[string]int64{"a/1": 1, "a/3": 1, "b/2": 1, "c/4": 1}, next.totals())
	})
}

func TestHeldBytesAreLimited(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		one := dictionary.MessageMemory(upload("checkout", 1, 1)) + messageOverhead
		next := &sink{}
		f := start(t, next, batchOf(func(cfg *BatchConfig) {
			cfg.Timeout = time.Hour
			cfg.MaxBytes = 0
			cfg.MaxHeldBytes = 3*one + 1
		}))
		for i := range byte(3) {
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", i+1, 1)))
		}
		err := f.ConsumeProfiles(t.Context(), upload("checkout", 4, 1))
		require.ErrorContains(t, err, fmt.Sprintf("batch::max_held_bytes and the memory budget allow %d", 3*one+1))
		assert.False(t, consumererror.IsPermanent(err))
		synctest.Wait()
		assert.Len(t, next.taken(), 1, "the held batches are flushed to free memory")
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 4, 1)))

		err = f.ConsumeProfiles(t.Context(), upload("checkout", 5, make([]int64, 100)...))
		require.ErrorContains(t, err, "max_held_bytes")
		assert.True(t, consumererror.IsPermanent(err), "it can never be held")
		require.NoError(t, f.Shutdown(t.Context()))
		assert.Equal(t, map[string]int64{"checkout/1": 1, "checkout/2": 1, "checkout/3": 1, "checkout/4": 1}, next.totals())
	})
}

// Batches reserve half of the memory budget at most, whatever max_held_bytes is. The other half is for requests.
func TestHeldBytesLeaveHalfOfTheBudget(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		one := dictionary.MessageMemory(upload("checkout", 1, 1)) + messageOverhead
		next := &sink{}
		f := startWithin(t, heldPart*memory.MessageFactor*4*one, next, batchOf(func(cfg *BatchConfig) { cfg.Timeout, cfg.MaxBytes = time.Hour, 0 }))
		for i := range byte(3) {
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", i+1, 1)))
		}
		used, _ := f.budget.Used()
		assert.LessOrEqual(t, used, f.budget.Size()/2)
		err := f.ConsumeProfiles(t.Context(), upload("checkout", 4, 1))
		require.ErrorContains(t, err, fmt.Sprintf("batch::max_held_bytes and the memory budget allow %d", 4*one*7/8))
		assert.False(t, consumererror.IsPermanent(err))
		require.NoError(t, f.Shutdown(t.Context()))
		assert.Equal(t, map[string]int64{"checkout/1": 1, "checkout/2": 1, "checkout/3": 1}, next.totals())
	})
}

// The limit follows the memory budget, unless max_held_bytes sets a lower one.
func TestHeldBytesFollowTheBudget(t *testing.T) {
	for configured, want := range map[int64]int64{0: 2 << 30, 64 << 20: 64 << 20, 8 << 30: 2 << 30, math.MaxInt64: 2 << 30} {
		f := startWithin(t, 8<<30, &sink{}, batchOf(func(cfg *BatchConfig) { cfg.MaxHeldBytes = configured }))
		assert.Equal(t, want, f.Profiles.(*deduplicator).batching.held.Most(0)/memory.MessageFactor, "max_held_bytes is %d", configured)
	}
}

// A batch that is being flushed counts as held until the next consumer has accepted it.
func TestHeldBytesWhileTheNextConsumerIsSlow(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		one := dictionary.MessageMemory(upload("checkout", 1, 1)) + messageOverhead
		next := &sink{answer: func(int, pprofile.Profiles) error {
			time.Sleep(time.Minute)
			return nil
		}}
		f := start(t, next, batchOf(func(cfg *BatchConfig) { cfg.MaxBytes, cfg.MaxHeldBytes = 0, one }))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		pass(time.Second)
		require.Error(t, f.ConsumeProfiles(t.Context(), upload("checkout", 2, 1)))
		pass(time.Minute)
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 2, 1)))
		assert.Len(t, next.taken(), 1)
	})
}

// While the maximum number of flushes is running, the open batch collects messages.
func TestSlowConsumerGetsLargerBatches(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{answer: func(int, pprofile.Profiles) error {
			time.Sleep(time.Minute)
			return nil
		}}
		f := start(t, next, batchOf(nil))
		most := f.Profiles.(*deduplicator).batching.maxFlushes
		for i := range byte(50) {
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", i+1, 1)))
			time.Sleep(time.Second + 1)
		}
		synctest.Wait()
		assert.Equal(t, most, next.calls())
		pass(5 * time.Minute)
		assert.Equal(t, most+1, next.calls(), "the other messages were in one batch")
		assert.Len(t, next.totals(), 50)
	})
}

func TestShutdownFlushes(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{}
		f := start(t, next, batchOf(func(cfg *BatchConfig) { cfg.MetadataKeys = []string{"x-tenant"} }))
		for i := range byte(6) {
			ctx := from(t.Context(), "x-tenant", strconv.Itoa(int(i%2)))
			require.NoError(t, f.ConsumeProfiles(ctx, upload("checkout", i+1, 1)))
		}
		require.NoError(t, f.Shutdown(t.Context()))
		assert.Equal(t, 2, next.calls())
		assert.Len(t, next.totals(), 6)

		err := f.ConsumeProfiles(t.Context(), upload("checkout", 9, 1))
		require.ErrorIs(t, err, errStopped)
		assert.False(t, consumererror.IsPermanent(err))
	})
}

// patient blocks each call until its context ends.
type patient struct{ sink }

func (p *patient) ConsumeProfiles(ctx context.Context, _ pprofile.Profiles) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &patient{}
		f := start(t, &next.sink, batchOf(nil))
		f.Profiles.(*deduplicator).batching.next = next
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		begin := time.Now()
		require.ErrorIs(t, f.Shutdown(ctx), context.DeadlineExceeded)
		assert.Equal(t, 5*time.Second, time.Since(begin))
		lost := f.logs.FilterMessageSnippet("Lost profiles").All()
		require.Len(t, lost, 1)
		assert.Equal(t, "shutdown", lost[0].ContextMap()["reason"])
	})
}

func TestMergeProfiles(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		heap := func(service string, id byte, values ...int64) pprofile.Profiles {
			pd := upload(service, id, values...)
			pd.Dictionary().StringTable().SetAt(1, "inuse_space")
			return pd
		}
		next := &sink{}
		f := start(t, next, func(cfg *Config) {
			batchOf(nil)(cfg)
			cfg.MergeProfiles.GetOrInsertDefault()
		})
		for _, pd := range []pprofile.Profiles{
			upload("a", 1, 1, 2), upload("a", 2, 10, 20, 30), upload("b", 3, 5), heap("a", 4, 7), heap("a", 5, 8),
		} {
			require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
		}
		require.NoError(t, f.Shutdown(t.Context()))
		require.Len(t, next.taken(), 1)
		requireCanonical(t, next.taken()[0])
		assert.Equal(t, 4, next.taken()[0].ProfileCount())
		f.assertPoints(t, "merged_profiles", points(1))
		got := next.totals()
		assert.EqualValues(t, 7, got["a/4"], "gauges are not added")
		assert.EqualValues(t, 8, got["a/5"])
		assert.EqualValues(t, 5, got["b/3"], "another service")
		merged := next.taken()[0].ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
		assert.EqualValues(t, 1001, merged.Time())
		assert.EqualValues(t, 11, merged.DurationNano())
		var values []int64
		for _, sample := range merged.Samples().All() {
			values = append(values, sample.Values().AsRaw()...)
		}
		assert.ElementsMatch(t, []int64{11, 22, 30}, values)
	})
}

// Random messages, split at random, have the same content after batching. Functions have names, which would be invented.
func TestBatchKeepsTheMeaning(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		next := &sink{}
		f := start(t, next, func(cfg *Config) {
			keepAll(cfg)
			batchOf(func(batch *BatchConfig) { batch.Timeout = time.Hour })(cfg)
		})
		var messages []pprofile.Profiles
		for range rapid.IntRange(1, 5).Draw(rt, "messages") {
			pd := gen.Profiles().Draw(rt, "message")
			texts := pd.Dictionary().StringTable()
			texts.Append("named")
			for _, function := range pd.Dictionary().FunctionTable().All() {
				if function.StartLine() != 0 && texts.At(int(function.NameStrindex())) == "" {
					function.SetNameStrindex(int32(texts.Len() - 1))
				}
			}
			messages = append(messages, clone(pd))
			require.NoError(rt, f.ConsumeProfiles(t.Context(), pd))
		}
		require.NoError(rt, f.Shutdown(t.Context()))
		want := dedup.Join(messages)
		if want.ProfileCount() == 0 {
			return
		}
		require.Len(rt, next.taken(), 1)
		require.Empty(rt, profiletest.Diff(want, next.taken()[0]))
	})
}

func largeMessage(id byte) pprofile.Profiles { return upload("large", id, make([]int64, 1000)...) }

// startBlocked starts a deduplicator whose next consumer takes no message before takes is closed.
func startBlocked(t *testing.T, budget int64) (f *fixture, takes chan struct{}) {
	t.Helper()
	takes = make(chan struct{})
	next := &sink{answer: func(int, pprofile.Profiles) error {
		<-takes
		return nil
	}}
	return startWithin(t, budget, next, batchOf(func(cfg *BatchConfig) { cfg.MaxBytes, cfg.WaitForResult = 0, false })), takes
}

// While large messages fill what may be held, ordinary ones still fit.
func TestOrdinaryMessagesFit(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		f, takes := startBlocked(t, 20*dictionary.MessageMemory(largeMessage(0)))
		id := byte(0)
		for ; f.ConsumeProfiles(t.Context(), largeMessage(id)) == nil; id++ {
		}
		require.Greater(t, id, byte(2))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("ordinary", 1, 1)))
		close(takes)
		pass(time.Second)
		require.NoError(t, f.ConsumeProfiles(t.Context(), largeMessage(id)))
	})
}

// While a message above the whole share is delivered, ordinary ones still fit, and no other large one.
func TestOrdinaryMessagesFitBesideALargeOne(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		f, takes := startBlocked(t, 3*dictionary.MessageMemory(largeMessage(0)))
		require.NoError(t, f.ConsumeProfiles(t.Context(), largeMessage(1)))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("ordinary", 1, 1)))
		require.ErrorContains(t, f.ConsumeProfiles(t.Context(), upload("other", 1, make([]int64, 200)...)), "are held")
		close(takes)
		pass(time.Second)
		require.NoError(t, f.ConsumeProfiles(t.Context(), largeMessage(2)), "nothing is held any more")
	})
}

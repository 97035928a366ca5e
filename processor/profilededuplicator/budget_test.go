// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// used returns the reserved bytes of the budget.
func (f *fixture) used() int64 {
	used, _ := f.budget.Used()
	return used
}

// A held message reserves twice its memory until it is flushed, with or without a reservation of its request, and whatever
// the result is.
func TestHeldIsReserved(t *testing.T) {
	for name, answer := range map[string]func(int, pprofile.Profiles) error{
		"taken":   nil,
		"refused": refuse(1, consumererror.NewPermanent(errNotNow)),
		"late":    refuse(3, errNotNow),
	} {
		t.Run(name, func(t *testing.T) {
			eachPooling(t, func(t *testing.T) {
				f := start(t, &sink{answer: answer}, batchOf(nil))
				one := dictionary.MessageMemory(upload("checkout", 1, 1))
				require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
				assert.Equal(t, 2*one, f.used())

				for i, reserved := range []int64{1, 2 * one, 100 * one} {
					before := f.used()
					request := must.Get(budgettest.Reserve(t.Context(), f.budget, reserved))(t)
					require.NoError(t, f.ConsumeProfiles(memory.NewContext(t.Context(), request), upload("checkout", byte(i+2), 1)))
					assert.Equal(t, before+max(reserved, 2*one), f.used(), "it is not reserved again")
					request.Release()
					assert.Equal(t, before+2*one, f.used(), "and not released with the rest of the request")
				}
				pass(time.Minute)
				assert.Zero(t, f.used())
			})
		})
	}
}

// What a queue of another pipeline holds stays in the reservation of the message. The copy needs an additional reservation.
func TestHeldCopyIsReserved(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		f := start(t, &sink{}, batchOf(nil))
		pd := upload("checkout", 1, 1)
		held := 2 * dictionary.MessageMemory(pd)
		request := must.Get(budgettest.Reserve(t.Context(), f.budget, 5000))(t)
		request.Accept()
		require.NoError(t, f.ConsumeProfiles(memory.NewContext(t.Context(), request), pd))
		assert.EqualValues(t, 5000, request.Bytes())
		assert.Equal(t, 5000+held, f.used())
		request.Release()
	})
}

// After joining, while the batch waits for the next component, its reservation is that of one message.
func TestJoinedIsReservedAsOne(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		f := start(t, &sink{answer: refuse(1000, errNotNow)}, batchOf(nil))
		for id := range byte(10) {
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", id, 1, 2, 3)))
		}
		before := f.used()
		pass(2 * time.Second)
		joined, _, _ := dedup.New(dedup.Options{}).Deduplicate(together(
			upload("checkout", 0, 1, 2, 3), upload("checkout", 1, 1, 2, 3), upload("checkout", 2, 1, 2, 3), upload("checkout", 3, 1, 2, 3),
			upload("checkout", 4, 1, 2, 3), upload("checkout", 5, 1, 2, 3), upload("checkout", 6, 1, 2, 3), upload("checkout", 7, 1, 2, 3),
			upload("checkout", 8, 1, 2, 3), upload("checkout", 9, 1, 2, 3)))
		assert.Equal(t, 2*dictionary.MessageMemory(joined), f.used())
		assert.Less(t, f.used(), before/2)
	})
}

// TestPartsAreReserved: each part of a batch has a reservation of its own, which the next component can retain: all parts together can need
// more than the batch.
func TestPartsAreReserved(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{retains: true}
		f := start(t, next, batchOf(func(cfg *BatchConfig) { cfg.MaxSamples = 1 }))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1, 2, 3, 4, 5, 6, 7)))
		pass(time.Minute)
		require.Len(t, next.taken(), 7)
		needed := int64(0)
		for _, part := range next.taken() {
			needed += memory.MessageFactor * dictionary.MessageMemory(part)
		}
		assert.Equal(t, needed, f.used())
		for _, ctx := range next.contexts() {
			memory.FromContext(ctx).Release()
		}
	})
}

// TestPartsOfALargeMessage: what was accepted is passed on, also if a part does not fit into the budget beside the message.
func TestPartsOfALargeMessage(t *testing.T) {
	values := make([]int64, 3000)
	for i := range values {
		values[i] = int64(i + 1)
	}
	whole := memory.MessageFactor * dictionary.MessageMemory(upload("checkout", 1, values...))
	for _, percent := range []int64{30, 60, 86} {
		for _, samples := range []int{1000, 2500} {
			synctest.Test(t, func(t *testing.T) {
				next := &sink{mutates: true}
				f := startWithin(t, whole*100/percent, next, batchOf(func(cfg *BatchConfig) { cfg.MaxSamples = samples }))
				require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, values...)))
				pass(time.Minute)
				got := 0
				for _, part := range next.taken() {
					got += part.SampleCount()
				}
				assert.Equal(t, 3000, got, "%d %% of the budget, %d samples", percent, samples)
			})
		}
	}
}

func TestBudgetIsExhausted(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		f := start(t, &sink{}, batchOf(func(cfg *BatchConfig) { cfg.Timeout = time.Hour }))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		release := f.takeAll(t)
		begin := time.Now()
		err := f.ConsumeProfiles(t.Context(), upload("checkout", 2, 1))
		require.ErrorIs(t, err, memory.ErrExhausted)
		assert.False(t, consumererror.IsPermanent(err))
		assert.Equal(t, time.Second, time.Since(begin))
		release()
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))

		request := must.Get(budgettest.Reserve(t.Context(), memory.New(1000, time.Second), 1))(t)
		err = f.ConsumeProfiles(memory.NewContext(t.Context(), request), upload("checkout", 3, 1, 2, 3))
		require.ErrorIs(t, err, memory.ErrTooLarge)
		assert.True(t, consumererror.IsPermanent(err))
		f.assertPoints(t, "refused_messages", append(points(1, because("memory_budget")), points(1, because("too_large"))...))
	})
}

// takeAll takes the rest of the budget, also what is kept for small requests.
func (f *fixture) takeAll(t *testing.T) (release func()) {
	t.Helper()
	others := f.budget.Begin()
	others.Add(f.budget.Size() - f.used())
	return others.Release
}

// events returns a message with one sample of 200 events and 200 attributes.
func events() pprofile.Profiles {
	pd := upload("checkout", 1, 1)
	sample := sampleOf(pd)
	sample.Values().FromRaw(nil)
	for i := range 200 {
		addAttribute(pd, strings.Repeat("k", i+1), "value")
		sample.TimestampsUnixNano().Append(uint64(1001 + i%5))
	}
	return pd
}

// With sample_shape: per_event, a message becomes larger: the attributes of a sample are copied for each of its timestamps.
func TestEventsAreReserved(t *testing.T) {
	for name, batch := range map[string]func(*Config){"synchronous": func(*Config) {}, "batch": batchOf(nil)} {
		t.Run(name, func(t *testing.T) {
			eachPooling(t, func(t *testing.T) {
				f := start(t, &sink{}, func(cfg *Config) {
					cfg.SampleShape = dedup.ShapePerEvent
					batch(cfg)
				})
				require.NoError(t, f.ConsumeProfiles(t.Context(), events()))
				pass(time.Second)
				_, peak := f.budget.Used()
				assert.GreaterOrEqual(t, peak, int64(200*(dictionary.SampleMemory+8+4*200)))
				assert.Equal(t, 200, f.next.taken()[0].SampleCount())

				request, err := budgettest.Reserve(t.Context(), memory.New(50_000, time.Second), 1)
				require.NoError(t, err)
				err = f.ConsumeProfiles(memory.NewContext(t.Context(), request), events())
				require.ErrorIs(t, err, memory.ErrTooLarge)
				assert.Len(t, f.next.taken(), 1)
			})
		})
	}
}

// A hostile message: it is small on the wire, but each of its samples would become a message with the same long name.
func TestSharedNameIsNotMultiplied(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		hostile := func(name int) pprofile.Profiles {
			pd := upload("checkout", 1, make([]int64, 1000)...)
			pd.Dictionary().StringTable().SetAt(3, strings.Repeat("x", name))
			for i := range 1000 {
				pd.Dictionary().LocationTable().At(1 + i).Lines().At(0).SetFunctionIndex(1)
				pd.Dictionary().LocationTable().At(1 + i).SetAddress(uint64(i))
			}
			return pd
		}
		next := &sink{}
		f := start(t, next, batchOf(nil))
		err := f.ConsumeProfiles(t.Context(), hostile(4<<20))
		require.ErrorContains(t, err, "cannot split a message to batch::max_bytes: sample 0 of profile 0 needs a message of 41")
		assert.True(t, consumererror.IsPermanent(err))
		f.assertPoints(t, "refused_messages", points(1, because("too_large")))
		pass(time.Second)
		assert.Zero(t, next.calls())

		in := contentOf(hostile(3_990_000)).bytes
		require.Greater(t, in, 4_000_000)
		require.NoError(t, f.ConsumeProfiles(t.Context(), hostile(3_990_000)))
		pass(time.Second)
		total := 0
		for _, part := range next.taken() {
			total += contentOf(part).bytes
		}
		assert.LessOrEqual(t, total, 8*in+len(next.taken())*4096)
		assert.LessOrEqual(t, next.calls(), 8)
		assert.Empty(t, f.lost())
	})
}

// A message that cannot be split without repeating too much of the dictionary is passed on, and logged once.
func TestOversizedMessages(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{}
		f := start(t, next, batchOf(func(cfg *BatchConfig) { cfg.MaxBytes = 102_000 }))
		for range 2 {
			pd := upload("checkout", 1, make([]int64, 2000)...)
			pd.Dictionary().StringTable().SetAt(3, strings.Repeat("x", 100_000))
			for i := range 2000 {
				pd.Dictionary().LocationTable().At(1 + i).Lines().At(0).SetFunctionIndex(1)
				pd.Dictionary().LocationTable().At(1 + i).SetAddress(uint64(i))
			}
			require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
			pass(time.Second)
		}
		assert.Len(t, f.logs.FilterMessageSnippet("above batch::max_bytes").All(), 1)
		oversized := int64(0)
		for _, part := range next.taken() {
			if contentOf(part).bytes > 102_000 {
				oversized++
			}
		}
		assert.Positive(t, oversized)
		f.assertPoints(t, "oversized_messages", points(oversized))
	})
}

// A hostile message: its scopes share a text. A queue on disk would write the text for each of them, as long as it is when it was mended.
func TestSharedTextIsReservedAsItIsWritten(t *testing.T) {
	for name, test := range map[string]struct {
		text   string
		scopes int
	}{"valid": {"xx", 60}, "not UTF-8": {"\xffx", 30}} {
		t.Run(name, func(t *testing.T) {
			eachPooling(t, func(t *testing.T) {
				f := startWithin(t, 128<<20, &sink{}, nil)
				request, err := budgettest.Reserve(t.Context(), f.budget, 16<<20)
				require.NoError(t, err)
				defer request.Release()
				pd := upload("checkout", 1, 1)
				text := strings.Repeat(test.text, 1<<19)
				for i := range test.scopes {
					scope := pd.ResourceProfiles().At(0).ScopeProfiles().AppendEmpty()
					scope.Scope().Attributes().PutStr("k", text)
					scope.Scope().SetName(strconv.Itoa(i))
					scope.Profiles().AppendEmpty().Samples().AppendEmpty().Values().Append(1)
				}
				err = f.ConsumeProfiles(memory.NewContext(t.Context(), request), pd)
				require.ErrorIs(t, err, memory.ErrTooLarge)
				assert.True(t, consumererror.IsPermanent(err))
				f.assertPoints(t, "refused_messages", points(1, because("too_large")))
			})
		})
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// After a sender has got a successful answer for a held profile, a second copy of the profile gets one as well.
func TestHeldIsAccepted(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{answer: refuse(5, errNotNow)}
		f := start(t, next, repeatedOf(batchOf(nil)))
		for range 64 {
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)), "without waiting")
		}
		assert.Zero(t, next.calls())
		pass(2 * time.Second)
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)), "also while the next component refuses it")
		pass(time.Hour)
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)), "and after it was delivered")
		require.NoError(t, f.Shutdown(t.Context()))
		assert.Equal(t, 6+1, next.calls(), "after an hour its id has expired")
		assert.Equal(t, map[string]int64{"checkout/1": 2}, next.totals())
	})
}

// If the batch with the first copy is lost, a later copy is delivered.
func TestBatchWithTheFirstIsLost(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{answer: refuse(1, consumererror.NewPermanent(errNotNow))}
		f := start(t, next, repeatedOf(batchOf(nil)))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		require.NoError(t, f.ConsumeProfiles(t.Context(), together(upload("checkout", 1, 1), upload("checkout", 2, 1))))
		pass(time.Second)
		assert.Equal(t, []any{"permanent"}, f.lost())
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 2, 1)))
		pass(time.Second)
		assert.Equal(t, map[string]int64{"checkout/1": 1, "checkout/2": 1}, next.totals())
	})
}

func TestShutdownWithHeld(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{answer: refuse(1, consumererror.NewPermanent(errNotNow))}
		f := start(t, next, repeatedOf(batchOf(nil)))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		require.NoError(t, f.Shutdown(t.Context()))
		require.ErrorIs(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)), errStopped, "it was not delivered")
	})
}

// The ids of a refused message are not in flight.
func TestRefusedMessageMayBeSentAgain(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		one := dictionary.MessageMemory(upload("checkout", 1, 1)) + messageOverhead
		next := &sink{}
		f := start(t, next, repeatedOf(batchOf(func(cfg *BatchConfig) { cfg.MaxBytes, cfg.MaxHeldBytes = 0, one })))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		require.Error(t, f.ConsumeProfiles(t.Context(), upload("checkout", 2, 1)))
		pass(time.Second)
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 2, 1)))
		pass(time.Second)
		assert.Equal(t, map[string]int64{"checkout/1": 1, "checkout/2": 1}, next.totals())
	})
}

// A batch is split into parts of two samples, and one part is lost. If all messages are sent again, only that part is
// delivered.
func TestLostPart(t *testing.T) {
	for name, test := range map[string]struct {
		samples []int
		lost    int
		again   []byte
	}{
		"with whole profiles":         {[]int{1, 1, 1, 1, 1, 1}, 2, []byte{3, 4}},
		"with the rest of one":        {[]int{1, 3, 1}, 3, []byte{2, 3}},
		"inside of one":               {[]int{1, 5, 1, 1}, 2, []byte{2}},
		"with one without samples":    {[]int{2, 0, 2, 0, 2}, 2, []byte{3, 4}},
		"with the first, without any": {[]int{0, 2, 2}, 1, []byte{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			eachPooling(t, func(t *testing.T) {
				next := &sink{answer: func(call int, _ pprofile.Profiles) error {
					if call == test.lost {
						return consumererror.NewPermanent(errNotNow)
					}
					return nil
				}}
				f := start(t, next, repeatedOf(func(cfg *Config) {
					keepAll(cfg)
					batchOf(func(batch *BatchConfig) { batch.MaxSamples = 2 })(cfg)
				}))
				whole := func() pprofile.Profiles {
					var messages []pprofile.Profiles
					for i, n := range test.samples {
						messages = append(messages, upload("checkout", byte(i+1), make([]int64, n)...))
					}
					return together(messages...)
				}
				require.NoError(t, f.ConsumeProfiles(t.Context(), whole()))
				pass(time.Second)
				before := len(next.taken())
				require.NoError(t, f.ConsumeProfiles(t.Context(), whole()))
				pass(time.Second)
				assert.Len(t, f.lost(), 1)
				again := map[byte]bool{}
				for _, pd := range next.taken()[before:] {
					for p := range walk.Profiles(pd) {
						again[byte(p.Time()-1000)] = true // Parts of a profile have ids of their own, but its time.
					}
				}
				for i := range test.samples {
					id := byte(i + 1)
					assert.Equal(t, slices.Contains(test.again, id), again[id], id)
				}
			})
		})
	}
}

// The ids of merged profiles count as delivered, although the merged profile has another id. Those of lost ones do not.
func TestMergedProfiles(t *testing.T) {
	for name, lost := range map[string]bool{"that arrive": false, "that are lost": true} {
		t.Run(name, func(t *testing.T) {
			eachPooling(t, func(t *testing.T) {
				next := &sink{}
				if lost {
					next.answer = refuse(1, consumererror.NewPermanent(errNotNow))
				}
				f := start(t, next, repeatedOf(func(cfg *Config) {
					batchOf(nil)(cfg)
					cfg.MergeProfiles.GetOrInsertDefault()
				}))
				for range 2 {
					require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
					require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 2, 2)))
					pass(time.Second)
				}
				require.Len(t, next.taken(), 1)
				assert.Equal(t, 1, next.taken()[0].ProfileCount())
				sum := int64(0)
				for _, value := range next.totals() {
					sum += value
				}
				assert.EqualValues(t, 3, sum)
			})
		})
	}
}

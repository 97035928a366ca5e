// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/walk"
)

// pass lets time go by, until nothing happens any more.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Who was told that the first is taken has its word for the second, too.
func TestHeldIsAccepted(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{answer: refuse(5, errNotNow)}
		f := start(t, next, repeatedOf(batchOf(nil)))
		for range 64 {
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)), "at once")
		}
		assert.Zero(t, next.calls())
		pass(2 * time.Second)
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)), "also while the next component refuses it")
		pass(time.Hour)
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)), "and when it has arrived")
		require.NoError(t, f.Shutdown(t.Context()))
		assert.Equal(t, 6+1, next.calls(), "after the hour it is forgotten")
		assert.Equal(t, map[string]int64{"checkout/1": 2}, next.totals())
	})
}

// A batch that is lost takes the word back: who sends again now delivers.
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
		require.ErrorIs(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)), errStopped, "nobody is told that it arrived")
	})
}

// A message that is not held is not in flight.
func TestRefusedMessageMayComeAgain(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		one := memoryOf(upload("checkout", 1, 1)) + messageOverhead
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

// A batch goes on in parts of two samples, of which one is lost. Who repeats everything delivers what was in that part.
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
						again[p.ProfileID()[0]] = true
					}
				}
				for _, id := range test.again {
					assert.True(t, again[id], id)
				}
				// A profile that is parted has a new id in its further parts.
				for i := range test.samples {
					id := byte(i + 1)
					assert.Equal(t, slices.Contains(test.again, id), again[id], id)
				}
			})
		})
	}
}

// Merged profiles have arrived, though none has its id any more. Lost ones have not.
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

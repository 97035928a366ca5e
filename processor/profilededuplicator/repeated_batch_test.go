// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// pass lets time go by, until nothing happens any more.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestHeldIsNotDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &sink{}
		f := start(t, next, repeatedOf(batchOf(nil)))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		second := send(t.Context(), f, upload("checkout", 1, 1))
		assert.False(t, second.done.Load(), "the first may still be lost")
		pass(time.Second)
		require.True(t, second.done.Load())
		require.NoError(t, second.err)
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)), "and now it has arrived")
		require.NoError(t, f.Shutdown(t.Context()))
		assert.Equal(t, 1, next.calls())
		assert.Equal(t, map[string]int64{"checkout/1": 1}, next.totals())
	})
}

func TestBatchWithTheFirstIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &sink{answer: refuse(1, consumererror.NewPermanent(errNotNow))}
		f := start(t, next, repeatedOf(batchOf(nil)))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		second := send(t.Context(), f, upload("checkout", 1, 1))
		pass(time.Second)
		require.True(t, second.done.Load(), "it is held in the next batch")
		require.NoError(t, second.err)
		pass(time.Second)
		assert.Equal(t, []any{"permanent"}, f.lost())
		assert.Equal(t, map[string]int64{"checkout/1": 1}, next.totals())
	})
}

func TestBatchWithTheFirstIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &sink{answer: refuse(2, errNotNow)}
		f := start(t, next, repeatedOf(batchOf(nil)))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		second := send(t.Context(), f, upload("checkout", 1, 1))
		pass(3 * time.Second)
		assert.False(t, second.done.Load(), "two attempts have failed")
		pass(time.Second)
		require.True(t, second.done.Load())
		require.NoError(t, second.err)
		pass(time.Minute)
		assert.Equal(t, 3, next.calls())
		assert.Equal(t, map[string]int64{"checkout/1": 1}, next.totals())
	})
}

func TestSecondGoesAwayBeforeTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &sink{}
		f := start(t, next, repeatedOf(batchOf(nil)))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		ctx, cancel := context.WithCancel(t.Context())
		second := send(ctx, f, upload("checkout", 1, 1))
		cancel()
		synctest.Wait()
		require.ErrorIs(t, second.err, context.Canceled)
		pass(time.Second)
		assert.Equal(t, map[string]int64{"checkout/1": 1}, next.totals())
	})
}

func TestShutdownWithSecondWaiting(t *testing.T) {
	for name, lost := range map[string]bool{"the first arrives": false, "the first is lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := &sink{}
				if lost {
					next.answer = refuse(1, consumererror.NewPermanent(errNotNow))
				}
				f := start(t, next, repeatedOf(batchOf(nil)))
				require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
				second := send(t.Context(), f, upload("checkout", 1, 1))
				require.NoError(t, f.Shutdown(t.Context()))
				synctest.Wait()
				require.True(t, second.done.Load())
				if lost {
					require.ErrorIs(t, second.err, errStopped, "nobody is told that it arrived")
					assert.Empty(t, next.totals())
				} else {
					require.NoError(t, second.err)
					assert.Equal(t, map[string]int64{"checkout/1": 1}, next.totals())
				}
			})
		})
	}
}

// A message that is not held is not in flight.
func TestRefusedMessageMayComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
		"with parts of two":           {[]int{1, 2, 2, 1}, 2, []byte{2, 3}},
		"inside of one":               {[]int{1, 5, 1, 1}, 2, []byte{2}},
		"with one without samples":    {[]int{2, 0, 2, 0, 2}, 2, []byte{3, 4}},
		"with the first, without any": {[]int{0, 2, 2}, 1, []byte{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := &sink{answer: func(call int, _ pprofile.Profiles) error {
					if call == test.lost {
						return consumererror.NewPermanent(errNotNow)
					}
					return nil
				}}
				f := start(t, next, repeatedOf(batchOf(func(cfg *BatchConfig) { cfg.MaxSamples = 2 })))
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
					for p := range profilesOf(pd) {
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
			synctest.Test(t, func(t *testing.T) {
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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/joinederrors"
)

var errNotNow = errors.New("not now")

// refuse returns an answer that refuses the first calls.
func refuse(first int, err error) func(int, pprofile.Profiles) error {
	return func(call int, _ pprofile.Profiles) error {
		if call <= first {
			return err
		}
		return nil
	}
}

// intervals returns the pauses between calls.
func (s *sink) intervals() []time.Duration {
	var pauses []time.Duration
	times := s.times()
	for i := 1; i < len(times); i++ {
		pauses = append(pauses, times[i].Sub(times[i-1]))
	}
	return pauses
}

// lost returns the reasons in the log.
func (f *fixture) lost() []any {
	var reasons []any
	for _, entry := range f.logs.FilterMessageSnippet("Lost profiles").All() {
		reasons = append(reasons, entry.ContextMap()["reason"])
	}
	return reasons
}

func TestRefusedBatchIsRetried(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{answer: refuse(4, errNotNow)}
		f := start(t, next, batchOf(func(cfg *BatchConfig) { cfg.RetryConfig.MaxInterval = 2 * time.Second }))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		pass(time.Minute)
		assert.Equal(t, []time.Duration{
			time.Second, 1500 * time.Millisecond, 2 * time.Second, 2 * time.Second,
		}, next.intervals())
		assert.Equal(t, map[string]int64{"checkout/1": 1}, next.totals())
		assert.Empty(t, f.lost())
		assert.Len(t, f.logs.All(), 1, "the retry is logged once")
	})
}

func TestBatchIsGivenUp(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		change func(*BatchConfig)
		calls  int
		reason string
	}{
		"refused for good": {consumererror.NewPermanent(errNotNow), nil, 1, "permanent"},
		"too long": {errNotNow, func(cfg *BatchConfig) {
			cfg.RetryConfig.MaxElapsedTime, cfg.RetryConfig.MaxInterval, cfg.RetryConfig.Multiplier = 3*time.Second, time.Second, 1
		}, 4, "retries"},
		"no retries": {errNotNow, func(cfg *BatchConfig) { cfg.RetryConfig.Enabled = false }, 1, "retries"},
	} {
		t.Run(name, func(t *testing.T) {
			eachPooling(t, func(t *testing.T) {
				next := &sink{answer: refuse(test.calls, test.err)}
				f := start(t, next, batchOf(test.change))
				require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1, 2)))
				pass(time.Minute)
				assert.Equal(t, test.calls, next.calls())
				assert.Equal(t, []any{test.reason}, f.lost())
				entry := f.logs.FilterMessageSnippet("Lost profiles").All()[0].ContextMap()
				assert.EqualValues(t, 1, entry["profiles"])
				assert.EqualValues(t, 2, entry["samples"])

				require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 2, 1)))
				pass(time.Second)
				assert.Equal(t, map[string]int64{"checkout/2": 1}, next.totals(), "the next batch is delivered")
				memory, tenants := f.Profiles.(*deduplicator).batching.usage()
				assert.Zero(t, memory, "a lost batch is not held")
				assert.Zero(t, tenants)
			})
		})
	}
}

// Only the part that was refused is retried.
func TestPartsAreRetriedSeparately(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{answer: func(call int, _ pprofile.Profiles) error {
			if call == 2 {
				return errNotNow
			}
			return nil
		}}
		f := start(t, next, batchOf(func(cfg *BatchConfig) { cfg.MaxSamples = 2 }))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1, 2, 4, 8, 16, 32)))
		pass(time.Minute)
		assert.Equal(t, 4, next.calls())
		sum := int64(0)
		for _, value := range next.totals() {
			sum += value
		}
		assert.EqualValues(t, 63, sum)
	})
}

// If the error of a consumer contains the profiles that it has not accepted, only these are retried.
func TestOnlyTheRefusedRestIsRetried(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{}
		next.answer = func(call int, pd pprofile.Profiles) error {
			if call > 1 {
				return nil
			}
			taken, rest := clone(pd), clone(pd)
			only := func(id byte, pd pprofile.Profiles) {
				pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().RemoveIf(func(p pprofile.Profile) bool {
					return p.ProfileID()[0] != id
				})
			}
			only(1, taken)
			only(2, rest)
			next.keep(t.Context(), taken)
			return xconsumererror.NewProfiles(errNotNow, rest)
		}
		f := start(t, next, batchOf(nil))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 2, 2)))
		pass(time.Minute)
		assert.Equal(t, map[string]int64{"checkout/1": 1, "checkout/2": 2}, next.totals())
	})
}

// A consumer that changes messages gets a copy, so that a retry sends the original.
func TestRetriedMessageIsComplete(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{mutates: true, answer: func(call int, pd pprofile.Profiles) error {
			if call <= 2 {
				pd.ResourceProfiles().RemoveIf(func(pprofile.ResourceProfiles) bool { return true })
				return errNotNow
			}
			return nil
		}}
		f := start(t, next, batchOf(nil))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		pass(time.Minute)
		assert.Equal(t, map[string]int64{"checkout/1": 1}, next.totals())
	})
}

// When the shutdown begins, the next attempt is made at once, and none after five seconds.
// What is lost is counted, also if the next component took the message apart.
func TestLossOfAChangedMessage(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{mutates: true, answer: func(_ int, pd pprofile.Profiles) error {
			pd.ResourceProfiles().RemoveIf(func(pprofile.ResourceProfiles) bool { return true })
			return errNotNow
		}}
		f := start(t, next, batchOf(func(cfg *BatchConfig) { cfg.RetryConfig.Enabled = false }))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1, 2)))
		pass(time.Minute)
		entry := f.logs.FilterMessageSnippet("Lost profiles").All()[0].ContextMap()
		assert.EqualValues(t, 1, entry["profiles"])
		assert.EqualValues(t, 2, entry["samples"])
	})
}

func TestShutdownEndsRetries(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{answer: refuse(1000, errNotNow)}
		f := start(t, next, batchOf(func(cfg *BatchConfig) {
			cfg.RetryConfig.InitialInterval, cfg.RetryConfig.MaxInterval = 3*time.Second, 3*time.Second
			cfg.RetryConfig.MaxElapsedTime = 0
		}))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		pass(100 * time.Second)
		calls := next.calls()
		begin := time.Now()
		require.NoError(t, f.Shutdown(t.Context()))
		assert.Equal(t, 3*time.Second, time.Since(begin))
		assert.Equal(t, calls+2, next.calls())
		assert.Equal(t, begin, next.times()[calls])
		assert.Equal(t, []any{"shutdown"}, f.lost())
	})
}

// If one of several consumers returns the profiles that it has not accepted, the others may need more: all are retried.
func TestPartOfOneConsumerIsNotTheRest(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		for _, other := range []error{errNotNow, consumererror.NewPermanent(errNotNow)} {
			next := &sink{}
			next.answer = func(call int, pd pprofile.Profiles) error {
				if call > 1 {
					return nil
				}
				rest := clone(pd)
				rest.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().RemoveIf(func(p pprofile.Profile) bool {
					return p.ProfileID()[0] != 2
				})
				return errors.Join(other, xconsumererror.NewProfiles(errNotNow, rest))
			}
			f := start(t, next, batchOf(nil))
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 2, 2)))
			pass(time.Minute)
			assert.Equal(t, map[string]int64{"checkout/1": 1, "checkout/2": 2}, next.totals())
			assert.Empty(t, f.lost())
		}
	})
}

// A sender gets no profiles of others, and learns whether it may retry.
func TestWithoutData(t *testing.T) {
	permanent, data := consumererror.NewPermanent(errNotNow), pprofile.NewProfiles()
	for _, err := range []error{
		errNotNow, permanent, errors.Join(permanent, errNotNow), errors.Join(permanent, permanent),
		xconsumererror.NewProfiles(errNotNow, data), xconsumererror.NewProfiles(permanent, data),
		consumererror.NewPermanent(xconsumererror.NewProfiles(errNotNow, data)),
		errors.Join(errNotNow, xconsumererror.NewProfiles(errNotNow, data)),
		errors.Join(permanent, xconsumererror.NewProfiles(permanent, data)),
		errors.Join(permanent, xconsumererror.NewProfiles(errNotNow, data)),
		xconsumererror.NewProfiles(errors.Join(errNotNow, xconsumererror.NewProfiles(errNotNow, data)), data),
	} {
		without := withoutData(err)
		partial := xconsumererror.Profiles{}
		assert.NotErrorAs(t, without, &partial, "%v", err)
		assert.Equal(t, joinederrors.IsPermanent(err), consumererror.IsPermanent(without), "%v", err)
		assert.ErrorContains(t, without, errNotNow.Error())
	}
}

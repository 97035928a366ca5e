// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newTestScheduler returns a scheduler of a section that has started.
func newTestScheduler() *scheduler {
	s := newScheduler(nil)
	s.health = newHealth(&watchingHost{}, nopSettings().Logger)
	return s
}

// TestSchedule: a run begins after the initial delay and in each interval, later by the jitter. One that takes longer than the interval
// delays the next one, and only that.
func TestSchedule(t *testing.T) {
	for name, test := range map[string]struct {
		takes  []time.Duration
		begins []time.Duration
	}{
		"short":     {[]time.Duration{0, 9, 0, 0}, []time.Duration{1, 11, 21, 31}},
		"long":      {[]time.Duration{0, 15, 0, 0}, []time.Duration{1, 11, 26, 31}},
		"very long": {[]time.Duration{0, 34, 0, 0}, []time.Duration{1, 11, 45, 51}},
		"all long":  {[]time.Duration{12, 12, 12, 0}, []time.Duration{1, 13, 25, 37}},
		"just fits": {[]time.Duration{10, 0}, []time.Duration{1, 11}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, started, begins := newTestScheduler(), time.Now(), make(chan time.Duration)
				count := 0
				s.start(&task{end: func() {}, run: func(context.Context) (string, error) {
					takes := test.takes[min(count, len(test.takes)-1)]
					count++
					begins <- time.Since(started)
					time.Sleep(takes * time.Second)
					return "", nil
				}}, ScheduleConfig{InitialDelay: time.Second, CollectionInterval: 10 * time.Second})
				for _, want := range test.begins {
					assert.Equal(t, want*time.Second, <-begins)
				}
				require.NoError(t, s.shutdown(t.Context()))
			})
		})
	}
}

// TestScheduleJitter: the jitter moves a run, and not those after it.
func TestScheduleJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, started, begins := newTestScheduler(), time.Now(), make(chan time.Duration)
		s.start(&task{end: func() {}, run: func(context.Context) (string, error) {
			begins <- time.Since(started)
			return "", nil
		}}, ScheduleConfig{CollectionInterval: 10 * time.Second, Jitter: 5 * time.Second})
		var jitter time.Duration
		for i := range time.Duration(20) {
			late := <-begins - i*10*time.Second
			assert.GreaterOrEqual(t, late, time.Duration(0))
			assert.Less(t, late, 5*time.Second)
			jitter += late
		}
		assert.Positive(t, jitter)
		require.NoError(t, s.shutdown(t.Context()))
	})
}

// TestScheduleStop: a task ends once. A run in progress is cancelled and ends first, and its result is not reported.
func TestScheduleStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestScheduler()
		ended := map[string]int{}
		add := func(name string, delay time.Duration) *task {
			one := &task{target: name, end: func() { ended[name]++ }, run: func(ctx context.Context) (string, error) {
				<-ctx.Done()
				time.Sleep(time.Second)
				return outcomeUnreachable, ctx.Err()
			}}
			s.start(one, ScheduleConfig{InitialDelay: delay, CollectionInterval: time.Minute})
			return one
		}
		waiting, working := add("waiting", time.Hour), add("working", 0)
		add("waiting at the shutdown", time.Hour)
		add("working at the shutdown", 0)
		synctest.Wait()
		s.stop(waiting)
		s.stop(working)
		assert.Equal(t, map[string]int{"waiting": 1}, ended)
		require.NoError(t, s.shutdown(t.Context()))
		s.stop(working)
		require.NoError(t, s.shutdown(t.Context()))
		assert.Equal(t, map[string]int{"waiting": 1, "working": 1, "waiting at the shutdown": 1, "working at the shutdown": 1}, ended)
		assert.Empty(t, s.health.states)

		add("late", 0)
		time.Sleep(time.Hour)
		assert.NotContains(t, ended, "late", "nothing starts after the shutdown")
		assert.Empty(t, s.health.states)
	})
}

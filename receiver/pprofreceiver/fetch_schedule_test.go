// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelpprof/otelpprof/internal/discovery"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// newTestScheduler returns a scheduler of a section that has started.
func newTestScheduler() *scheduler {
	s := newScheduler()
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
				s.start(&task{end: func() {}, run: func(context.Context) error {
					takes := test.takes[min(count, len(test.takes)-1)]
					count++
					begins <- time.Since(started)
					time.Sleep(takes * time.Second)
					return nil
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
		s.start(&task{jitter: 5 * time.Second, end: func() {}, run: func(context.Context) error {
			begins <- time.Since(started)
			return nil
		}}, ScheduleConfig{CollectionInterval: 10 * time.Second})
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

// TestJitterOfTargets: the fetches from configured targets have a jitter of at most a third of the interval, and of 5 seconds.
func TestJitterOfTargets(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	in := must.Get(newIntake(nopSettings(), cfg, &sink{}))(t)
	for interval, want := range map[time.Duration]time.Duration{3 * time.Second: time.Second, 15 * time.Second: 5 * time.Second, time.Minute: 5 * time.Second} {
		section := cfg.Scrape.GetOrInsertDefault()
		section.Targets, section.Profiles = []TargetConfig{{Endpoint: "localhost:1"}}, []ScrapedProfile{{Name: profileHeap}}
		section.Schedule = ScheduleConfig{CollectionInterval: interval, InitialDelay: time.Hour}
		s := must.Get(newScrape(nopSettings(), section, in))(t)
		require.NoError(t, s.Start(t.Context(), &watchingHost{}))
		for one := range s.tasks {
			assert.Equal(t, want, one.jitter)
		}
		assert.Len(t, s.tasks, 1)
		require.NoError(t, s.Shutdown(t.Context()))
	}
}

// TestScheduleStop: a task ends once. A run in progress is cancelled and ends first, and its result is not reported.
func TestScheduleStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestScheduler()
		ended := map[string]int{}
		add := func(name string, delay time.Duration) *task {
			one := &task{target: name, end: func() { ended[name]++ }, run: func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(time.Second)
				return ctx.Err()
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

// TestDiscoveredPreference: the port decides before the order of the extensions, and that before the position.
func TestDiscoveredPreference(t *testing.T) {
	cfg := defaultScrapeConfig()
	cfg.Discovery = []component.ID{discoveryID, component.MustNewIDWithName("some_discovery", "2")}
	cfg.Profiles = []ScrapedProfile{{Name: profileHeap}}
	d := newIdleJobs(&cfg)
	container := func(name, origin string, position int) *discovery.Target {
		return &discovery.Target{
			Address: "10.0.0.1:6060", Origin: origin, Position: position, Attributes: map[string]string{"k8s.container.name": name},
		}
	}
	chosen := func() string {
		return d.running["heap http://10.0.0.1:6060/debug/pprof/heap"].labels["k8s.container.name"]
	}
	defer func() { require.NoError(t, d.shutdown(t.Context())) }()
	d.update(1, []*discovery.Target{container("second extension", "10.0.0.1", 0)})
	assert.Equal(t, "second extension", chosen())
	d.update(0, []*discovery.Target{container("b", "10.0.0.1:9000", 2), container("a", "10.0.0.1:9001", 1)})
	assert.Equal(t, "a", chosen(), "the first extension goes first, and there the first position")
	d.update(1, []*discovery.Target{container("second extension", "10.0.0.1:6060", 5)})
	assert.Equal(t, "second extension", chosen(), "it declares the port")
}

// TestRemember: all trackers together keep at most as many counters as half of the budget holds, and give back what they kept.
func TestRemember(t *testing.T) {
	b := memory.New(20*counterBytes, 0)
	in, err := newIntake(nopSettings(), createDefaultConfig().(*Config), &sink{})
	require.NoError(t, err)
	in.budget = b
	c, err := newCollector(nopSettings(), in, nameScrape, "http")
	require.NoError(t, err)
	c.begin(&watchingHost{})
	compare := func(one *tracker, samples int) error {
		message, _, err := in.formats.pprof(false, "")(plain(t, cpuProfile(samples)), in.newSource())
		require.NoError(t, err)
		one.discard()
		one.next.memory, err = budgettest.Reserve(t.Context(), b, 6*counterBytes)
		require.NoError(t, err)
		one.apply(message, time.Now())
		return c.remember(one)
	}
	apply := func(one *tracker, samples int) error {
		err := compare(one, samples)
		if err == nil {
			one.commit()
		}
		return err
	}
	var first, second tracker
	require.NoError(t, apply(&first, 3))
	require.NoError(t, apply(&second, 2))
	assert.EqualValues(t, 10*counterBytes, used(b), "of two sample types each")

	err = apply(&second, 3)
	require.ErrorContains(t, err, "its 6 counters are too many beside 6 others")
	assert.Equal(t, outOfMemory, classOf(err))
	assert.EqualValues(t, 10*counterBytes, used(b), "what was known stays")
	assert.EqualValues(t, 10*counterBytes, c.remembered.Used())

	require.NoError(t, compare(&first, 1))
	first.discard()
	assert.EqualValues(t, 10*counterBytes, c.remembered.Used(), "what is not passed on does not change what is known")

	require.NoError(t, apply(&first, 1), "fewer are always taken")
	require.NoError(t, apply(&second, 3))
	assert.EqualValues(t, 8*counterBytes, used(b))
	first.release()
	second.release()
	assert.Zero(t, first, "no counters stay in memory without a reservation")
	assert.Zero(t, used(b))
	assert.Zero(t, c.remembered.Used())
}

// TestGaugesAreNotRemembered: memory is kept for counters alone.
func TestGaugesAreNotRemembered(t *testing.T) {
	assert.True(t, isGauge("inuse_space"))
	b := memory.New(64<<20, 0)
	p := cpuProfile(10)
	p.SampleType[1].Type = "inuse_space"
	to := newTarget(t, serve(plain(t, p)))
	cfg, section := scrapeConfig(to.URL)
	section.Profiles = []ScrapedProfile{{Name: profileAllocs}}
	r := runInto(t, budgettest.NewHost(b), cfg, &sink{})
	r.waitOutcome(t, outcomeBaseline, 1)
	assert.EqualValues(t, 10, remembered(r))
}

// remembered is the metric of the section scrape.
func remembered(r *running) int64 {
	found, err := r.telemetry.GetMetric("otelcol_receiver_pprof_remembered_counters")
	if err != nil {
		return -1
	}
	for _, point := range found.Data.(metricdata.Gauge[int64]).DataPoints {
		if api, _ := point.Attributes.Value("api"); api.AsString() == nameScrape {
			return point.Value
		}
	}
	return -1
}

// TestDiscoveredMemory: what is kept of a target is given back when it is gone, also if it is being fetched then.
func TestDiscoveredMemory(t *testing.T) {
	var silent atomic.Bool
	entered := make(chan struct{}, 100)
	answer := serve(plain(t, cpuProfile(10)))
	to := newTarget(t, func(w http.ResponseWriter, r *http.Request) {
		if silent.Load() {
			entered <- struct{}{}
			<-r.Context().Done()
			return
		}
		answer(w, r)
	})
	b := memory.New(64<<20, 0)
	found := &someDiscovery{}
	host := hostOf(found)
	host.extensions[budgettest.ID] = &budgettest.Extension{Budget: b}
	r := runScrape(t, host, func(cfg *ScrapeConfig) {
		cfg.Discovery = []component.ID{discoveryID}
		cfg.Schedule.CollectionInterval = 20 * time.Millisecond
		cfg.Profiles = []ScrapedProfile{{Name: profileMutex}}
	})
	for i, gone := range []func(){func() {}, func() { silent.Store(true); <-entered }} {
		found.set(&discovery.Target{Address: addressOf(to)})
		r.waitOutcome(t, outcomeBaseline, int64(i+1))
		assert.EqualValues(t, 20, remembered(r), "10 samples of 2 types")
		gone()
		found.set()
		require.Eventually(t, func() bool { return remembered(r) == 0 && used(b) == 0 }, time.Minute, time.Millisecond)
	}
}

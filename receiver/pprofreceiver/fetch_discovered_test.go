// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"

	"github.com/otelpprof/otelpprof/internal/discovery"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

var discoveryID = component.MustNewID("some_discovery")

// someDiscovery is an extension that discovers what a test says.
type someDiscovery struct {
	component.StartFunc
	component.ShutdownFunc
	mu          sync.Mutex
	targets     []*discovery.Target
	subscribers map[int]func([]*discovery.Target)
}

func (s *someDiscovery) Subscribe(update func([]*discovery.Target)) (cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subscribers == nil {
		s.subscribers = map[int]func([]*discovery.Target){}
	}
	id := len(s.subscribers)
	s.subscribers[id] = update
	update(s.targets)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subscribers, id)
	}
}

func (s *someDiscovery) set(targets ...*discovery.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.targets = targets
	for _, update := range s.subscribers {
		update(targets)
	}
}

func hostOf(s *someDiscovery) *watchingHost {
	return &watchingHost{extensions: map[component.ID]component.Component{discoveryID: s}}
}

// runDiscovered scrapes what an extension discovers.
func runDiscovered(t *testing.T, found *someDiscovery, change func(*ScrapeConfig)) (*running, *watchingHost) {
	t.Helper()
	host := hostOf(found)
	return runScrape(t, host, func(cfg *ScrapeConfig) {
		cfg.Discovery = []component.ID{discoveryID}
		cfg.Schedule.CollectionInterval = 20 * time.Millisecond
		cfg.Profiles = []ScrapedProfile{{Name: profileHeap}}
		if change != nil {
			change(cfg)
		}
	}), host
}

// newIdleJobs returns jobs whose fetches are not due while a test runs.
func newIdleJobs(cfg *ScrapeConfig) *discoveredJobs {
	s := &scrape{cfg: cfg, collector: &collector{scheduler: newScheduler()}}
	s.health = newHealth(&watchingHost{}, nopSettings().Logger)
	return newDiscoveredJobs(s)
}

func addressOf(to *target) string { return strings.TrimPrefix(to.URL, "http://") }

// TestDiscoveredChurn: a scrape begins within an interval, and stops at once.
func TestDiscoveredChurn(t *testing.T) {
	one, other := newTarget(t, serve(plain(t, cpuProfile(1)))), newTarget(t, serve(plain(t, cpuProfile(1))))
	found := &someDiscovery{}
	r, host := runDiscovered(t, found, nil)
	first := &discovery.Target{Address: addressOf(one), Attributes: map[string]string{"service.name": "one", "team": "a"}}
	found.set(first)
	got := r.sink.wait(t, 1)[0].ResourceProfiles().At(0).Resource().Attributes().AsRaw()
	assert.Equal(t, map[string]any{"service.name": "one", "team": "a", "server.address": "127.0.0.1", "server.port": portOf(t, one.URL)}, got)

	found.set(first, &discovery.Target{Address: addressOf(other), PathPrefix: "/prof", Params: map[string]string{"gc": "1", "seconds": "9"}})
	require.Eventually(t, func() bool { return other.times("/prof/heap?gc=1") > 1 }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return host.last().Attributes().Len() == 2 }, time.Minute, time.Millisecond)

	found.set()
	before := one.times("/debug/pprof/heap") + other.times("/prof/heap?gc=1")
	assert.Zero(t, host.last().Attributes().Len(), "targets that are gone are not in the status")
	time.Sleep(50 * time.Millisecond) // more than two intervals
	assert.LessOrEqual(t, one.times("/debug/pprof/heap")+other.times("/prof/heap?gc=1"), before+2, "at most those that were under way")
}

// TestDiscoveredStopsAtOnce: a fetch under way ends when its target is gone, and is not counted.
func TestDiscoveredStopsAtOnce(t *testing.T) {
	entered, left := make(chan struct{}, 10), make(chan struct{}, 10)
	slow := newTarget(t, func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
	})
	found := &someDiscovery{}
	found.set(&discovery.Target{Address: addressOf(slow)})
	r, host := runDiscovered(t, found, nil)
	<-entered
	found.set()
	<-left
	assert.Empty(t, r.counts("otelcol_receiver_pprof_fetches", "outcome"))
	assert.Nil(t, host.last())
}

// TestDiscoveredDeltas: counters go on while a target does not change, and are forgotten when it is gone or another one.
func TestDiscoveredDeltas(t *testing.T) {
	to := newTarget(t, serve(plain(t, cpuProfile(1))))
	found := &someDiscovery{}
	target := func(pod string) *discovery.Target {
		return &discovery.Target{Address: addressOf(to), Attributes: map[string]string{"k8s.pod.uid": pod}}
	}
	found.set(target("a"))
	r, _ := runDiscovered(t, found, func(cfg *ScrapeConfig) { cfg.Profiles = []ScrapedProfile{{Name: profileMutex}} })
	r.waitOutcome(t, "ok", 2)
	baselines := func() int64 { return r.counts("otelcol_receiver_pprof_fetches", "outcome")["baseline"] }
	found.set(target("a")) // another pointer, nothing else
	r.waitOutcome(t, "ok", r.counts("otelcol_receiver_pprof_fetches", "outcome")["ok"]+2)
	assert.EqualValues(t, 1, baselines())
	found.set(target("b")) // another pod at the same address
	r.waitOutcome(t, "baseline", 2)
	found.set()
	found.set(target("b"))
	r.waitOutcome(t, "baseline", 3)
}

// TestDiscoveredAgain: a target whose place another one has taken for a time is fetched again, although it did not change.
func TestDiscoveredAgain(t *testing.T) {
	to := newTarget(t, serve(plain(t, cpuProfile(1))))
	a := &discovery.Target{Address: addressOf(to), Attributes: map[string]string{"pod": "a"}}
	b := &discovery.Target{Address: addressOf(to), Attributes: map[string]string{"pod": "b"}}
	found := &someDiscovery{}
	r, _ := runDiscovered(t, found, nil)
	for _, step := range []struct {
		targets []*discovery.Target
		pod     string
	}{
		{[]*discovery.Target{a}, "a"}, {[]*discovery.Target{b, a}, "b"}, {[]*discovery.Target{a}, "a"}, {[]*discovery.Target{b, a}, "b"},
	} {
		found.set(step.targets...)
		before := len(r.sink.all())
		require.Eventually(t, func() bool {
			for _, message := range r.sink.all()[before:] {
				if pod, _ := message.ResourceProfiles().At(0).Resource().Attributes().Get("pod"); pod.Str() == step.pod {
					return true
				}
			}
			return false
		}, time.Minute, time.Millisecond, "of %d targets, %s is fetched", len(step.targets), step.pod)
	}
}

// TestDiscoveredOnce: what two targets have in common is fetched once, and what is configured is not fetched again.
func TestDiscoveredOnce(t *testing.T) {
	cfg := defaultScrapeConfig()
	cfg.Discovery = []component.ID{discoveryID, component.MustNewIDWithName("some_discovery", "2")}
	cfg.Profiles = []ScrapedProfile{{Name: profileHeap}}
	d := newDiscoveredJobs(&scrape{
		cfg: &cfg, jobs: []*job{cfg.newJob(&url.URL{Scheme: "http", Host: "static:1"}, cfg.resolve(cfg.PathPrefix, cfg.Profiles[0]), nil, nil)},
	})
	sidecar := &discovery.Target{
		Address: "10.0.0.1:9000", Origin: "10.0.0.1:9000", Attributes: map[string]string{"k8s.container.name": "sidecar"},
		Profiles: map[string]discovery.Profile{"heap": {Port: "6060"}},
	}
	app := &discovery.Target{
		Address: "10.0.0.1:6060", Origin: "10.0.0.1:6060", Attributes: map[string]string{"k8s.container.name": "app"},
		Profiles: map[string]discovery.Profile{"heap": {Port: "6060"}},
	}
	d.targets = [][]*discovery.Target{{sidecar, app, {Address: "static:1"}}, {app}}
	wanted, _ := d.choose()
	require.Len(t, wanted, 1)
	assert.Equal(t, "app", wanted["heap http://10.0.0.1:6060/debug/pprof/heap"].labels["k8s.container.name"])
}

// TestDiscoveredProfiles: a target says which profiles, and where they are.
func TestDiscoveredProfiles(t *testing.T) {
	cfg := defaultScrapeConfig()
	cfg.Seconds = 5
	urls := func(target *discovery.Target) []string {
		var got []string
		for _, one := range cfg.jobsOf(target) {
			got = append(got, one.key)
		}
		return got
	}
	assert.Equal(t, []string{
		"cpu https://10.0.0.1/debug/pprof/profile?seconds=5", "allocs https://10.0.0.1/debug/pprof/allocs",
	}, urls(&discovery.Target{
		Scheme: "https", Address: "10.0.0.1", Listed: true,
		Profiles: map[string]discovery.Profile{"process_cpu": {}, "memory": {}, "block": {Skip: true}, "fgprof": {}},
	}), "of listed profiles those that are configured")
	assert.Equal(t, []string{
		"cpu http://[fd00::1]:81/debug/pprof/profile?seconds=5", "allocs http://[fd00::1]:80/debug/pprof/allocs",
		"goroutine https://[fd00::1]:82/goroutines", "block http://[fd00::1]:80/debug/pprof/block",
	}, urls(&discovery.Target{Address: "[fd00::1]:80", Profiles: map[string]discovery.Profile{
		"cpu": {Port: "81"}, "heap": {Skip: true}, "mutex": {Skip: true}, "goroutine": {Scheme: "https", Port: "82", Path: "/goroutines"},
	}}))
}

// TestDiscoveredInterval: a target may have an interval and a timeout of its own, which must leave time for its profiles.
func TestDiscoveredInterval(t *testing.T) {
	to := newTarget(t, serve(plain(t, cpuProfile(1))))
	found := &someDiscovery{}
	found.set(&discovery.Target{Address: addressOf(to), Interval: 5 * time.Millisecond})
	r, host := runDiscovered(t, found, func(cfg *ScrapeConfig) {
		cfg.Schedule.CollectionInterval = time.Hour
		cfg.Profiles = []ScrapedProfile{{Name: profileHeap}, {Name: profileCPU}}
	})
	r.waitOutcome(t, "ok", 3)
	require.ErrorContains(t, host.waitFor(t, componentstatus.StatusRecoverableError).Err(), "seconds, 10, must be below the interval, 5ms")
	assert.Zero(t, to.times("/debug/pprof/profile?seconds=10"))
}

// TestDiscoveredErrors: an option that names no such extension fails at the start.
func TestDiscoveredErrors(t *testing.T) {
	cfg := fetchConfig()
	cfg.Scrape.GetOrInsertDefault().Discovery = []component.ID{discoveryID}
	require.NoError(t, cfg.Scrape.Get().Validate())
	for want, host := range map[string]*watchingHost{
		`cannot find the extension "some_discovery"`: {},
		`"some_discovery" discovers no targets`:      {extensions: map[component.ID]component.Component{discoveryID: &struct{ component.Component }{}}},
	} {
		r, err := newReceiver(nopSettings(), cfg, &sink{})
		require.NoError(t, err)
		require.ErrorContains(t, r.Start(t.Context(), host), want)
		require.NoError(t, r.Shutdown(t.Context()))
	}
	cfg.Scrape.Get().Discovery = []component.ID{discoveryID, discoveryID}
	require.ErrorContains(t, cfg.Scrape.Get().Validate(), `discovery[1] is "some_discovery" for the second time`)
}

// TestDiscoveredSpread: thousands of targets are spread evenly over the interval, and keep their places.
func TestDiscoveredSpread(t *testing.T) {
	const targets, parts = 5000, 10
	interval, now := 10*time.Second, time.Now()
	counts := make([]int, parts)
	for i := range targets {
		key := fmt.Sprintf("heap http://10.0.%d.%d:6060/debug/pprof/heap", i/250, i%250)
		wait := untilPlace(now, interval, key)
		require.Positive(t, wait)
		require.LessOrEqual(t, wait, interval)
		assert.Equal(t, now.Add(wait).UnixNano()%int64(interval), now.Add(3*interval+time.Second).Add(untilPlace(now.Add(3*interval+time.Second), interval, key)).UnixNano()%int64(interval))
		counts[(wait-1)*parts/interval]++
	}
	for _, count := range counts {
		assert.InDelta(t, targets/parts, count, targets/parts/5)
	}
}

// TestDiscoveredManyFailures: with many targets the status has only failing ones, and not all of them.
func TestDiscoveredManyFailures(t *testing.T) {
	host := &watchingHost{}
	h := newHealth(host, nopSettings().Logger)
	for i := range 300 {
		h.set(fmt.Sprintf("ok-%03d", i), nil)
	}
	before := len(host.events)
	assert.LessOrEqual(t, before, maxListedTargets+1)
	for i := range 150 {
		h.set(fmt.Sprintf("bad-%03d", i), newRefusal(unreachable, "away"))
	}
	assert.Len(t, host.events, before+150)
	assert.Equal(t, maxListedTargets, host.last().Attributes().Len())
	for i := range 150 {
		h.forget(fmt.Sprintf("bad-%03d", i))
	}
	assert.Equal(t, componentstatus.StatusOK, host.last().Status())
	assert.Len(t, h.states, 300)
}

// TestDiscoveredLongURLs: thousands of targets that share long parameters do not have a URL each. The status tells how many are left out.
func TestDiscoveredLongURLs(t *testing.T) {
	cfg := defaultScrapeConfig()
	cfg.Discovery, cfg.Schedule.CollectionInterval = []component.ID{discoveryID}, 100_000*time.Hour
	shared := map[string]string{"x": strings.Repeat("%", 60<<10)}
	all := make([]*discovery.Target, 2000)
	for i := range all {
		all[i] = &discovery.Target{Address: fmt.Sprintf("10.0.%d.%d:6060", i/250, i%250), Params: shared}
	}
	d := newIdleJobs(&cfg)
	host := &watchingHost{}
	d.health.host = host
	before := memorytest.LiveHeap()
	d.update(0, all)
	assert.Less(t, memorytest.LiveHeap()-before, int64(3*maxURLBytes))
	require.Equal(t, 31*len(cfg.Profiles), len(d.running)) //nolint:testifylint // the keys are long
	require.ErrorContains(t, host.last().Err(), "discovery: 1969 targets are left out: the URLs of the others have more than 33554432 bytes together")
	d.update(0, all[:31])
	require.Equal(t, 31*len(cfg.Profiles), len(d.running)) //nolint:testifylint // the keys are long
	assert.Equal(t, componentstatus.StatusOK, host.last().Status())
	require.NoError(t, d.shutdown(t.Context()))
}

// BenchmarkDiscovered is what a discovered target with the default profiles costs: the memory while it waits, and the time to
// start and stop it.
func BenchmarkDiscovered(b *testing.B) {
	const targets = 1000
	found := &someDiscovery{}
	all := make([]*discovery.Target, targets)
	for i := range all {
		all[i] = &discovery.Target{
			Address:    fmt.Sprintf("10.0.%d.%d:6060", i/250, i%250),
			Attributes: map[string]string{"k8s.pod.name": fmt.Sprintf("checkout-%d", i), "service.name": "checkout"},
		}
	}
	cfg := defaultScrapeConfig()
	cfg.Discovery, cfg.Schedule.CollectionInterval = []component.ID{discoveryID}, 100_000*time.Hour
	var held int64
	for b.Loop() {
		d := newIdleJobs(&cfg)
		require.NoError(b, d.subscribe(hostOf(found)))
		before := memorytest.LiveHeap()
		found.set(all...)
		require.Len(b, d.running, targets*len(cfg.Profiles))
		held = memorytest.LiveHeap() - before
		found.set()
		d.subscriptions[0]()
		require.NoError(b, d.shutdown(context.Background()))
	}
	b.ReportMetric(float64(held)/targets, "B/target")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*targets), "us/target")
}

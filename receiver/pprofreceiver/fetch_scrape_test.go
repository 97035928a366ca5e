// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/http"
	_ "net/http/pprof" // what is scraped
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/httpclienttest"
)

// runScrape scrapes targets, with the change.
func runScrape(t *testing.T, host *watchingHost, change func(*ScrapeConfig), endpoints ...string) *running {
	t.Helper()
	cfg, section := scrapeConfig(endpoints...)
	if change != nil {
		change(section)
	}
	return runConfig(t, host, cfg)
}

// byName sorts messages by the name of their profile.
func byName(messages []pprofile.Profiles) map[string][]pprofile.Profiles {
	sorted := map[string][]pprofile.Profiles{}
	for _, message := range messages {
		name := profileNames(message.Dictionary(), message.ResourceProfiles().At(0).ScopeProfiles().At(0))[0]
		sorted[name] = append(sorted[name], message)
	}
	return sorted
}

// TestScrapeGo scrapes net/http/pprof of this process, every profile that it has.
func TestScrapeGo(t *testing.T) {
	rates := &self{cfg: &SelfConfig{BlockProfileFraction: 1, MutexProfileFraction: 1}}
	defer rates.setRates()()
	to := newTarget(t, http.DefaultServeMux.ServeHTTP)
	host := &watchingHost{}
	r := runScrape(t, host, func(cfg *ScrapeConfig) {
		cfg.Schedule.CollectionInterval = 1100 * time.Millisecond
		cfg.Seconds = 1
		cfg.Profiles = append(cfg.Profiles, ScrapedProfile{Name: profileThreads})
		cfg.Targets[0].Labels = map[string]string{"service.name": "checkout", "server.address": "label wins"}
	}, to.URL)
	require.Eventually(t, func() bool {
		contend()
		return len(byName(r.sink.all())) == len(selfProfiles)+1
	}, time.Minute, 10*time.Millisecond)
	for _, message := range r.sink.wait(t, 1) {
		assert.Equal(t, map[string]any{
			"service.name": "checkout", "server.address": "label wins", "server.port": portOf(t, to.URL),
		}, message.ResourceProfiles().At(0).Resource().Attributes().AsRaw())
	}
	sorted := byName(r.sink.all())
	for name, types := range map[string][]string{
		"cpu":          {"samples/count", "cpu/nanoseconds"},
		"heap":         {"alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"},
		"allocs":       {"alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"},
		"goroutine":    {"goroutine/count"},
		"mutex":        {"contentions/count", "delay/nanoseconds"},
		"block":        {"contentions/count", "delay/nanoseconds"},
		"threadcreate": {"threadcreate/count"},
	} {
		assert.ElementsMatch(t, types, sortedKeys(sums(sorted[name][0])), name)
	}
	assert.Positive(t, to.times("/debug/pprof/profile?seconds=1"))
	assert.Positive(t, to.times("/debug/pprof/mutex"))
	assert.EqualValues(t, 3, r.counts("otelcol_receiver_pprof_fetches", "outcome")["baseline"])
	host.waitFor(t, componentstatus.StatusOK)
}

// TestScrapeTargets scrapes several targets. The status tells how each of them is.
func TestScrapeTargets(t *testing.T) {
	good := newTarget(t, serve(gz(t, plain(t, cpuProfile(1)))))
	bad := newTarget(t, http.NotFound)
	host := &watchingHost{}
	r := runScrape(t, host, func(cfg *ScrapeConfig) {
		cfg.PathPrefix = "/prof"
		cfg.Profiles = []ScrapedProfile{{Name: profileHeap}, {Name: "fgprof", Path: "/debug/fgprof", Seconds: 3}, {Name: "delta_heap"}}
		cfg.Schedule.CollectionInterval = 4 * time.Second
	}, good.URL+"/app", strings.TrimPrefix(bad.URL, "http://"))
	var event *componentstatus.Event
	require.Eventually(t, func() bool {
		event = host.last()
		return event != nil && event.Attributes().Len() == 6
	}, time.Minute, time.Millisecond)
	assert.Equal(t, componentstatus.StatusRecoverableError, event.Status())
	for _, uri := range []string{"/prof/heap", "/debug/fgprof?seconds=3", "/prof/delta_heap"} {
		assert.Positive(t, good.times("/app"+uri), uri)
		assert.Positive(t, bad.times(uri), uri)
	}
	for target, state := range event.Attributes().AsRaw() {
		if strings.HasPrefix(target, good.URL) {
			assert.Equal(t, "ok", state, target)
		} else {
			assert.Contains(t, state, "status 404", target)
		}
	}
	assert.Equal(t, []string{"delta_heap", "fgprof", "heap"}, sortedKeys(byName(r.sink.all())))
}

// TestScrapeManyFailures tells of some in the error, and of all in the attributes.
func TestScrapeManyFailures(t *testing.T) {
	bad := newTarget(t, http.NotFound)
	host := &watchingHost{}
	var endpoints []string
	for path := range strings.SplitSeq("abcdefgh", "") {
		endpoints = append(endpoints, bad.URL+"/"+path)
	}
	r := runScrape(t, host, func(cfg *ScrapeConfig) { cfg.Profiles = []ScrapedProfile{{Name: profileHeap}} }, endpoints...)
	r.waitOutcome(t, "bad_answer", 8)
	require.Eventually(t, func() bool { return host.last() != nil && host.last().Attributes().Len() == 8 }, time.Minute, time.Millisecond)
	require.ErrorContains(t, host.last().Err(), "and 3 more")
	assert.Equal(t, 5, strings.Count(host.last().Err().Error(), "status 404"))
}

// oneAtATime lets the scrape process one profile at a time.
func oneAtATime(r *pprofReceiver) { r.sections[0].(*scrape).slots = make(chan struct{}, 1) }

// TestScrapeAtOnce works on so many profiles at a time; others wait for their turn, and give up when their time has passed.
func TestScrapeAtOnce(t *testing.T) {
	to := newTarget(t, serve(plain(t, cpuProfile(1))))
	cfg, section := scrapeConfig(to.URL)
	section.HTTP.Timeout, section.Profiles = 100*time.Millisecond, []ScrapedProfile{{Name: "a"}, {Name: "b"}}
	r := runInto(t, &watchingHost{}, cfg, &sink{}, oneAtATime)
	places := r.receiver.sections[0].(*scrape).slots
	places <- struct{}{} // as another profile that is being translated
	r.waitOutcome(t, "busy", 1)
	<-places
	r.waitOutcome(t, "ok", 2)
}

// TestScrapeWaitsWithoutAPlace: a profile that the next consumer has leaves its place to another.
func TestScrapeWaitsWithoutAPlace(t *testing.T) {
	to := newTarget(t, serve(plain(t, cpuProfile(1))))
	entered, release := make(chan struct{}, 100), make(chan struct{})
	cfg, section := scrapeConfig(to.URL)
	section.Profiles = []ScrapedProfile{{Name: "a"}, {Name: "b"}}
	r := runInto(t, &watchingHost{}, cfg, &sink{consume: func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	}}, oneAtATime)
	<-entered
	<-entered
	close(release)
	r.waitOutcome(t, "ok", 2)
}

// TestScrapeTimeout gives up on a target that takes longer than it was asked to.
func TestScrapeTimeout(t *testing.T) {
	slow := newTarget(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	r := runScrape(t, &watchingHost{}, func(cfg *ScrapeConfig) {
		cfg.HTTP.Timeout, cfg.Profiles = 30*time.Millisecond, []ScrapedProfile{{Name: profileHeap}}
	}, slow.URL)
	r.waitOutcome(t, "unreachable", 2)
}

// TestIdleConnectionsAreClosed: after a shutdown, targets have no connection of the receiver.
func TestIdleConnectionsAreClosed(t *testing.T) {
	for name, start := range map[string]func(address string) *running{
		"scrape": func(address string) *running { return runScrape(t, &watchingHost{}, nil, address) },
		"remote": func(address string) *running { return runRemote(t, &watchingHost{}, address, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			url, open := httpclienttest.NewServer(t, serve(plain(t, cpuProfile(1))))
			r := start(url)
			r.waitOutcome(t, outcomeOK, 2)
			assert.Positive(t, open())
			require.NoError(t, r.receiver.Shutdown(t.Context()))
			assert.Eventually(t, func() bool { return open() == 0 }, time.Minute, time.Millisecond)
		})
	}
}

// TestFetchRedirect follows redirects within a target. A redirect to another host or port would disclose the headers.
func TestFetchRedirect(t *testing.T) {
	stranger := newTarget(t, serve(gz(t, plain(t, cpuProfile(1)))))
	elsewhere := strings.Replace(stranger.URL, "127.0.0.1", "localhost", 1) + "/there"
	to := newTarget(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, stranger.URL+"/there", http.StatusFound)
		case "/far":
			http.Redirect(w, r, elsewhere, http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/there", http.StatusFound)
		default:
			assert.Equal(t, "key", r.Header.Get("X-Api-Key"))
			serve(gz(t, plain(t, cpuProfile(1))))(w, r)
		}
	})
	headers := configopaque.MapList{{Name: "X-Api-Key", Value: "key"}}
	remote := func(cfg *Config, section *RemoteConfig) { section.HTTP.Headers = headers }
	scrape := func(cfg *ScrapeConfig) {
		cfg.HTTP.Headers = headers
		cfg.Schedule = soon()
		cfg.Profiles = []ScrapedProfile{{Name: "one", Path: "/away"}, {Name: "far", Path: "/far"}, {Name: "other", Path: "/here"}}
	}
	runRemote(t, &watchingHost{}, to.URL+"/here", remote).sink.wait(t, 1)
	runRemote(t, &watchingHost{}, to.URL+"/away", remote).waitOutcome(t, "bad_answer", 2)
	runRemote(t, &watchingHost{}, to.URL+"/far", remote).waitOutcome(t, "bad_answer", 2)
	both := runScrape(t, &watchingHost{}, scrape, to.URL)
	both.sink.wait(t, 1)
	both.waitOutcome(t, "bad_answer", 3)
	assert.Zero(t, stranger.times("/there"))
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// counting is a mutex profile whose counters a test moves.
type counting struct {
	mu     sync.Mutex
	counts [3]int64
	down   bool
}

func (c *counting) add(i int, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[i] += n
}

func (c *counting) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = [3]int64{}
}

func (c *counting) setDown(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

func (c *counting) serve(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}},
		TimeNanos:  time.Now().UnixNano(),
	}
	for i, n := range c.counts {
		function := &profile.Function{ID: uint64(i + 1), Name: "f" + strings.Repeat("x", i)}
		location := &profile.Location{ID: uint64(i + 1), Address: uint64(i + 1), Line: []profile.Line{{Function: function}}}
		p.Function, p.Location = append(p.Function, function), append(p.Location, location)
		if n > 0 {
			p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{location}, Value: []int64{n, 1000 * n}})
		}
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_ = p.Write(w)
}

// handed adds up what was handed on. No value may be below zero.
func handed(t *testing.T, s *sink) int64 {
	t.Helper()
	var contentions, delay int64
	for _, message := range s.all() {
		for _, profile := range message.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
			for _, sample := range profile.Samples().All() {
				require.GreaterOrEqual(t, sample.Values().At(0), int64(0))
			}
		}
		contentions += sums(message)["contentions/count"]
		delay += sums(message)["delay/nanoseconds"]
	}
	require.Equal(t, 1000*contentions, delay)
	return contentions
}

// TestScrapeDelta lets the counters of a target grow by known amounts, with a missed scrape, a next component that
// refuses, and a restart in the middle. The sums are what happened.
func TestScrapeDelta(t *testing.T) {
	counters := &counting{}
	counters.add(0, 1_000_000)
	to := newTarget(t, counters.serve)
	host := &watchingHost{}
	r := runScrape(t, host, func(cfg *ScrapeConfig) { cfg.Profiles = []ScrapedProfile{{Name: profileMutex}} }, to.URL)
	r.waitOutcome(t, "baseline", 1)
	happened := int64(0)
	grow := func(i int, n int64) {
		t.Helper()
		counters.add(i, n)
		happened += n
		require.Eventually(t, func() bool { return handed(t, r.sink) == happened }, time.Minute, time.Millisecond)
	}
	grow(0, 5)
	grow(1, 7)

	// A missed scrape is made up for by the next one.
	counters.setDown(true)
	event := host.waitFor(t, componentstatus.StatusRecoverableError)
	require.ErrorContains(t, event.Err(), "/debug/pprof/mutex: status 502")
	counters.add(0, 11)
	happened += 11
	counters.setDown(false)
	grow(2, 13)

	// So is a difference that was not handed on.
	r.sink.set(func(context.Context) error { return errors.New("full") })
	counters.add(1, 17)
	happened += 17
	before, _ := r.receiver.intake.budget.Used()
	r.waitOutcome(t, "consumer_unavailable", 1)
	require.Eventually(t, func() bool {
		used, _ := r.receiver.intake.budget.Used()
		return used <= before
	}, time.Minute, time.Millisecond, "the counters that were not handed on take no memory")
	r.sink.set(nil)
	grow(1, 19)

	// A target that is started again counts anew. All of that has happened since.
	counters.restart()
	grow(2, 23)
	grow(0, 29)
	assert.EqualValues(t, 1, r.counts("otelcol_receiver_pprof_fetches", "outcome")["baseline"])

	messages := r.sink.wait(t, 2)
	for i := 1; i < len(messages); i++ {
		before := messages[i-1].ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
		now := messages[i].ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
		require.EqualValues(t, now.Time(), uint64(before.Time())+before.DurationNano(), "each begins where the one before ended")
	}
}

// TestScrapeDeltaModes asks the target, or nobody, for differences.
func TestScrapeDeltaModes(t *testing.T) {
	p := cpuProfile(0)
	p.SampleType = []*profile.ValueType{{Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_space", Unit: "bytes"}}
	for i, values := range [][]int64{{10, -5}, {20, 7}, {-3, -3}} {
		p.Sample = append(p.Sample, &profile.Sample{Location: p.Location, Value: values, NumLabel: map[string][]int64{"bytes": {int64(i)}}})
	}
	to := newTarget(t, serve(plain(t, p)))

	r := runScrape(t, &watchingHost{}, func(cfg *ScrapeConfig) {
		cfg.Schedule.CollectionInterval = 2500 * time.Millisecond
		cfg.Delta, cfg.Seconds, cfg.Profiles = DeltaTarget, 2, []ScrapedProfile{{Name: profileAllocs}, {Name: profileHeap}}
	}, to.URL)
	var messages map[string][]pprofile.Profiles
	require.Eventually(t, func() bool {
		messages = byName(r.sink.wait(t, 1))
		return len(messages) == 2
	}, time.Minute, time.Millisecond)
	assert.Equal(t, map[string]int64{"alloc_space/bytes": 30}, sums(messages["allocs"][0]), "nothing that is a gauge, nothing below zero")
	assert.Equal(t, map[string]int64{"alloc_space/bytes": 27, "inuse_space/bytes": -1}, sums(messages["heap"][0]), "as it is")
	times := func(name string) (start, end int64) {
		difference := messages[name][0].ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
		start = int64(difference.Time())
		return start, start + int64(difference.DurationNano())
	}
	start, end := times("allocs")
	assert.Equal(t, [2]int64{p.TimeNanos - p.DurationNanos, p.TimeNanos}, [2]int64{start, end}, "the target gives the time of the end")
	start, end = times("heap")
	assert.Equal(t, [2]int64{p.TimeNanos, p.TimeNanos + p.DurationNanos}, [2]int64{start, end})
	assert.Positive(t, to.times("/debug/pprof/allocs?seconds=2"))
	assert.Positive(t, to.times("/debug/pprof/heap"))
	assert.Zero(t, to.times("/debug/pprof/allocs"))

	r = runScrape(t, &watchingHost{}, func(cfg *ScrapeConfig) {
		cfg.Delta, cfg.Profiles = DeltaOff, []ScrapedProfile{{Name: profileAllocs}}
	}, to.URL)
	assert.Equal(t, map[string]int64{"alloc_space/bytes": 27, "inuse_space/bytes": -1}, sums(r.sink.wait(t, 1)[0]))
	assert.Positive(t, to.times("/debug/pprof/allocs"))
}

// TestScrapeDeltaPayload leaves the payload out of a difference, of which it is no copy.
func TestScrapeDeltaPayload(t *testing.T) {
	counters := &counting{}
	to := newTarget(t, counters.serve)
	for mode, kept := range map[string]bool{DeltaComputed: false, DeltaOff: true} {
		cfg, section := scrapeConfig(to.URL)
		cfg.IncludeOriginalPayload = true
		section.Delta, section.Profiles = mode, []ScrapedProfile{{Name: profileMutex}}
		r := runConfig(t, &watchingHost{}, cfg)
		profile := r.sink.wait(t, 1)[0].ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
		assert.Equal(t, kept, profile.OriginalPayload().Len() > 0, mode)
		assert.Equal(t, kept, profile.OriginalPayloadFormat() != "", mode)
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelpprof/otelpprof/internal/discovery"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/delta"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
)

// TestRemember: all trackers together keep at most as many counters as half of the budget holds, and give back what they kept.
func TestRemember(t *testing.T) {
	b := memory.New(20*counterBytes, 0)
	in, err := newIntake(nopSettings(), createDefaultConfig().(*Config), &sink{})
	require.NoError(t, err)
	in.budget = b
	c, err := newCollector(nopSettings(), in, nameScrape, "http")
	require.NoError(t, err)
	apply := func(one *tracker, samples int) error {
		message, _, err := in.formats.Pprof(false, "")(plain(t, cpuProfile(samples)), in.newSource())
		require.NoError(t, err)
		one.next.Release()
		one.next, err = b.Reserve(t.Context(), 6*counterBytes)
		require.NoError(t, err)
		one.Apply(message, time.Now())
		if err := c.remember(one); err != nil {
			return err
		}
		one.commit()
		return nil
	}
	var first, second tracker
	require.NoError(t, apply(&first, 3))
	require.NoError(t, apply(&second, 2))
	assert.EqualValues(t, 10*counterBytes, used(b), "of two sample types each")

	err = apply(&second, 3)
	require.ErrorContains(t, err, "its 6 counters are too many beside 6 others")
	assert.Equal(t, refusal.Memory, refusal.Of(err))
	assert.EqualValues(t, 10*counterBytes, used(b), "what was known stays")
	assert.EqualValues(t, 10, c.remembered.Load())

	require.NoError(t, apply(&first, 1), "fewer are always taken")
	require.NoError(t, apply(&second, 3))
	assert.EqualValues(t, 8*counterBytes, used(b))
	first.release()
	second.release()
	assert.Zero(t, first, "no counters stay in memory without a reservation")
	assert.Zero(t, used(b))
	assert.Zero(t, c.remembered.Load())
}

// TestGaugesAreNotRemembered: memory is kept for counters alone.
func TestGaugesAreNotRemembered(t *testing.T) {
	assert.True(t, delta.Gauge("inuse_space"))
	b := memory.New(64<<20, 0)
	p := cpuProfile(10)
	p.SampleType[1].Type = "inuse_space"
	to := newTarget(t, serve(plain(t, p)))
	cfg := fetchConfig()
	section := cfg.Scrape.GetOrInsertDefault()
	section.Schedule = soon()
	section.Targets = []TargetConfig{{Endpoint: to.URL}}
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
		require.Eventually(t, func() bool { return remembered(r) == 0 && used(b) == 0 }, 10*time.Second, time.Millisecond)
	}
}

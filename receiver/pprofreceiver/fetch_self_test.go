// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
)

// runSelf profiles the test process. change changes the configuration.
func runSelf(t *testing.T, host *watchingHost, change func(*SelfConfig)) *running {
	t.Helper()
	cfg := fetchConfig()
	section := cfg.Self.GetOrInsertDefault()
	section.Schedule, section.CPUDuration = soon(), 10*time.Millisecond
	section.Schedule.CollectionInterval = 50 * time.Millisecond
	if change != nil {
		change(section)
	}
	return runConfig(t, host, cfg)
}

// TestSelf captures every profile, with its name.
func TestSelf(t *testing.T) {
	host := &watchingHost{}
	r := runSelf(t, host, nil)
	found := map[string]bool{}
	require.Eventually(t, func() bool {
		contend()
		for _, message := range r.sink.all() {
			scope := message.ResourceProfiles().At(0).ScopeProfiles().At(0)
			found[profileNames(message.Dictionary(), scope)[0]] = true
		}
		return len(found) == len(selfProfiles)
	}, time.Minute, 10*time.Millisecond)
	for _, name := range selfProfiles {
		assert.True(t, found[name], name)
	}
	r.sink.wait(t, 1)
	assert.EqualValues(t, 3, r.counts("otelcol_receiver_pprof_fetches", "outcome")["baseline"], "allocs, mutex and block")
	host.waitFor(t, componentstatus.StatusOK)
}

// contend causes entries in mutex and block profiles.
func contend() {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			time.Sleep(100 * time.Microsecond)
		})
	}
	all.Wait()
}

// TestSelfRates: the rates of the process are set while a receiver runs, and restored once.
func TestSelfRates(t *testing.T) {
	before := runtime.SetMutexProfileFraction(7)
	defer runtime.SetMutexProfileFraction(before)
	r := runSelf(t, &watchingHost{}, func(cfg *SelfConfig) { cfg.MutexProfileFraction = 3 })
	assert.Equal(t, 3, runtime.SetMutexProfileFraction(-1))
	for range 2 {
		require.NoError(t, r.receiver.Shutdown(t.Context()))
		assert.Equal(t, 7, runtime.SetMutexProfileFraction(-1))
	}

	blocked := func() (n int) {
		contend()
		contend()
		records := make([]runtime.BlockProfileRecord, 10_000)
		n, _ = runtime.BlockProfile(records)
		for _, record := range records[:n] {
			n += int(record.Count)
		}
		return n
	}
	count := blocked()
	assert.Equal(t, count, blocked(), "blocking is not recorded any more")
}

// TestSelfRatesLeftAlone: rates that are not configured stay unchanged, and their profiles are not captured.
func TestSelfRatesLeftAlone(t *testing.T) {
	before := runtime.SetMutexProfileFraction(7)
	defer runtime.SetMutexProfileFraction(before)
	r := runSelf(t, &watchingHost{}, func(cfg *SelfConfig) {
		cfg.MutexProfileFraction, cfg.BlockProfileFraction = 0, 0
		cfg.Profiles = []string{profileMutex, profileBlock, profileGoroutine}
	})
	assert.Equal(t, 7, runtime.SetMutexProfileFraction(-1))
	for _, message := range r.sink.wait(t, 3) {
		assert.Equal(t, []string{"goroutine"}, profileNames(message.Dictionary(), message.ResourceProfiles().At(0).ScopeProfiles().At(0)))
	}
}

// TestSelfCPUBusy: the CPU profile is skipped while another profiler runs, which is not disturbed.
func TestSelfCPUBusy(t *testing.T) {
	var other bytes.Buffer
	require.NoError(t, pprof.StartCPUProfile(&other))
	host := &watchingHost{}
	r := runSelf(t, host, func(cfg *SelfConfig) { cfg.Profiles = []string{profileCPU} })
	r.waitOutcome(t, "profiler_busy", 2)
	assert.Empty(t, r.sink.all())
	assert.Nil(t, host.last(), "a skipped profile is no failure")
	pprof.StopCPUProfile()
	assert.NotEmpty(t, other.Bytes())
	r.sink.wait(t, 1)
}

// TestSelfDeltaOff: the counters are passed on unchanged, from the first round on.
func TestSelfDeltaOff(t *testing.T) {
	r := runSelf(t, &watchingHost{}, func(cfg *SelfConfig) {
		cfg.Profiles, cfg.Delta = []string{profileAllocs}, DeltaOff
	})
	messages := r.sink.wait(t, 2)
	first, second := sums(messages[0])["alloc_space/bytes"], sums(messages[1])["alloc_space/bytes"]
	assert.Positive(t, first)
	assert.GreaterOrEqual(t, second, first)
	assert.Zero(t, r.counts("otelcol_receiver_pprof_fetches", "outcome")["baseline"])
}

// TestSelfResource: the resource is the Collector's, and resource_attributes override it.
func TestSelfResource(t *testing.T) {
	set := receivertest.NewNopSettings(metadata.Type)
	set.Resource.Attributes().PutStr("service.name", "otelcol-pprof")
	set.Resource.Attributes().PutStr("service.version", "1.2.3")
	cfg := fetchConfig()
	cfg.ResourceAttributes = map[string]any{"service.version": "4.5.6", "host.name": "a"}
	next := &sink{}
	in := must.Get(newIntake(set, cfg, next))(t)
	source := must.Get(newSelf(set, cfg.Self.GetOrInsertDefault(), in))(t)
	outcome := must.Get(source.round(t.Context(), profileGoroutine, &tracker{}))(t)
	assert.Empty(t, outcome)
	assert.Equal(t, map[string]any{"service.name": "otelcol-pprof", "service.version": "4.5.6", "host.name": "a"}, next.resource(t))
}

// TestSelfShutdown: the shutdown does not wait for the end of the CPU profile.
func TestSelfShutdown(t *testing.T) {
	r := runSelf(t, &watchingHost{}, func(cfg *SelfConfig) { cfg.Profiles, cfg.CPUDuration = []string{profileCPU}, time.Hour })
	var other bytes.Buffer
	require.Eventually(t, func() bool {
		if pprof.StartCPUProfile(&other) != nil {
			return true
		}
		pprof.StopCPUProfile()
		return false
	}, time.Minute, 70*time.Millisecond, "the receiver's CPU profile runs")
	require.NoError(t, r.receiver.Shutdown(t.Context()))
	require.NoError(t, pprof.StartCPUProfile(&other), "the CPU profiler is available")
	pprof.StopCPUProfile()
}

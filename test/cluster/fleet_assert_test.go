// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wait lets time pass, and returns its begin and its end.
func (*fleet) wait(length time.Duration) (from, until time.Time) {
	from = time.Now()
	time.Sleep(length)
	return from, time.Now()
}

// waitAsked waits until each pod that is to be scraped was asked after a time.
func (f *fleet) waitAsked(t *testing.T, since time.Time) {
	t.Helper()
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(f.snapshot(), func(pod fleetPod) bool {
			return pod.wanted && pod.gone.IsZero() && len(pod.times(since, time.Now())) == 0
		})
	}, patience, 4*pollEvery, "a pod is not asked")
}

// assertFoundSoon: each pod was scraped within an interval from when it ran, and those without annotation never.
func (f *fleet) assertFoundSoon(t *testing.T) {
	t.Helper()
	var latest time.Duration
	for _, pod := range f.snapshot() {
		if !pod.wanted {
			assert.Empty(t, pod.asked, "%s has no annotation", pod.name)
			continue
		}
		if len(pod.asked) > 0 {
			latest = max(latest, pod.asked[0].at.Sub(pod.ran))
		}
	}
	t.Logf("the last scrape of a pod began %s after the pod ran", latest.Round(time.Millisecond))
	assert.Less(t, latest, interval+delay)
}

// times are those of a pod's scrapes within a time.
func (p *fleetPod) times(from, until time.Time) (times []time.Time) {
	for _, q := range p.asked {
		if q.at.After(from) && q.at.Before(until) {
			times = append(times, q.at)
		}
	}
	return times
}

// assertEven: no tenth of the interval has more than twice its share of the scrapes, or less than half. Several intervals are
// added up, since a machine that does other things delays scrapes.
func (f *fleet) assertEven(t *testing.T, from, until time.Time) {
	t.Helper()
	const parts = 10
	var counts [parts]int
	for _, pod := range f.snapshot() {
		for _, q := range pod.asked {
			if q.at.After(from) && q.at.Before(until) {
				counts[q.at.Sub(from)%interval*parts/interval]++
			}
		}
	}
	share := fleetSize * int(until.Sub(from)/interval) / parts
	least, most := slices.Min(counts[:]), slices.Max(counts[:])
	t.Logf("scrapes in a tenth of the interval: %d to %d, the share is %d", least, most, share)
	assert.Greater(t, least, share/2)
	assert.Less(t, most, share*2)
}

// assertRegular: pods that ran all the time were asked once in each interval.
func (f *fleet) assertRegular(t *testing.T, from, until time.Time) {
	t.Helper()
	shortest, longest := time.Hour, time.Duration(0)
	for _, pod := range f.snapshot() {
		if !pod.wanted || !pod.gone.IsZero() || pod.ran.After(from.Add(-interval-delay)) {
			continue
		}
		times := append(pod.times(from, until), until) // a pod that is not asked any more has a long time at the end
		for i := range times[:len(times)-1] {
			gap := times[i+1].Sub(times[i])
			longest = max(longest, gap)
			if i < len(times)-2 {
				shortest = min(shortest, gap)
			}
		}
		require.Greater(t, len(times), 1, pod.name)
	}
	t.Logf("from one scrape to the next it took %s to %s", shortest.Round(time.Millisecond), longest.Round(time.Millisecond))
	assert.Greater(t, shortest, interval-delay)
	assert.Less(t, longest, interval+delay)
}

// assertNotAskedAfterwards: a pod that is gone is not asked any more, as soon as that is known.
func (f *fleet) assertNotAskedAfterwards(t *testing.T) {
	t.Helper()
	var latest time.Duration
	gone := 0
	for _, pod := range f.snapshot() {
		if pod.gone.IsZero() {
			continue
		}
		gone++
		for _, q := range pod.asked {
			latest = max(latest, q.at.Sub(pod.gone))
		}
	}
	require.Positive(t, gone)
	t.Logf("the last scrape of a pod that is gone began %s after that", latest.Round(time.Millisecond))
	assert.Less(t, latest, delay)
}

// assertShared: each pod was asked by one replica alone, and each replica has about its share.
func (f *fleet) assertShared(t *testing.T, from time.Time, replicas []replica) {
	t.Helper()
	shares := map[string]int{}
	for _, pod := range f.snapshot() {
		by := map[string]bool{}
		for _, q := range pod.asked {
			if q.at.After(from) {
				by[q.by] = true
			}
		}
		if pod.wanted && pod.gone.IsZero() {
			assert.Len(t, by, 1, pod.name)
		}
		assert.LessOrEqual(t, len(by), 1, pod.name)
		for name := range by {
			shares[name]++
		}
	}
	t.Logf("pods of each replica: %v", shares)
	for _, one := range replicas {
		assert.Greater(t, shares[one.name], fleetSize*4/10)
		assert.Less(t, shares[one.name], fleetSize*7/10)
	}
}

// assertDelivered: what the pods have answered was read and written.
func (f *fleet) assertDelivered(t *testing.T, one replica) {
	t.Helper()
	asked := 0
	for _, pod := range f.snapshot() {
		asked += len(pod.asked)
	}
	fetches := func(outcome string) float64 { return one.metric(t, "otelcol_receiver_pprof_fetches", outcome) }
	require.Eventually(t, func() bool { return int(fetches("")) >= asked }, patience, pollEvery, "fetches of which the end is not counted")
	assert.EqualValues(t, fleetSize, fetches(`outcome="baseline"`), "of each pod the first allocations are only kept")
	for _, outcome := range []string{"unreachable", "bad_answer", "busy", "memory_budget", "malformed", "aborted", "consumer_rejected"} {
		assert.Zero(t, fetches(`outcome="`+outcome+`"`), outcome)
	}
	assert.Zero(t, one.metric(t, "otelcol_exporter_send_failed_samples"))
}

// logUsage tells what a target costs.
func (f *fleet) logUsage(t *testing.T, idle, before, after usage) {
	t.Helper()
	scrapes := 0
	for _, pod := range f.snapshot() {
		scrapes += len(pod.times(before.at, after.at))
	}
	processor := after.processor - before.processor
	t.Logf("%d scrapes in %s", scrapes, after.at.Sub(before.at).Round(time.Millisecond))
	t.Logf("processor time: %s, %s for each scrape", processor, (processor / time.Duration(scrapes)).Round(time.Microsecond))
	t.Logf("heap: %d kB without targets, %d kB with %d, %d bytes for each", idle.heap>>10, after.heap>>10, fleetSize, (after.heap-idle.heap)/fleetSize)
	t.Logf("anonymous memory: %d kB without targets, %d kB at most with them, %d bytes for each", idle.anonymous>>10, after.anonymous>>10, (after.anonymous-idle.anonymous)/fleetSize)
	t.Logf("counters that are kept: %d", after.counters)
}

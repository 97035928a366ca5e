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

// wait lets time pass, and returns its begin.
func (*fleet) wait(length time.Duration) (from time.Time) {
	from = time.Now()
	time.Sleep(length)
	return from
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

// assertFound: pods without annotation were never scraped. The time until the others were is logged.
func (f *fleet) assertFound(t *testing.T) {
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

// assertEven: no tenth of the interval has half of the scrapes. TestDiscoveredSpread of the receiver tests the exact shares; here
// scrapes that a busy machine delayed come together.
func (f *fleet) assertEven(t *testing.T, from time.Time) {
	t.Helper()
	const parts = 10
	var counts [parts]int
	sum := 0
	for _, pod := range f.snapshot() {
		for _, at := range pod.times(from, time.Now()) {
			counts[at.Sub(from)%interval*parts/interval]++
			sum++
		}
	}
	least, most := slices.Min(counts[:]), slices.Max(counts[:])
	t.Logf("scrapes in a tenth of the interval: %d to %d, the share is %d", least, most, sum/parts)
	assert.Less(t, most, sum/2)
}

// assertRegular: since a time, pods that ran already were asked at least once, no oftener than once in each interval, and on
// average at least in every other one. Two scrapes more are allowed: the first one, and one that was delayed until after it.
func (f *fleet) assertRegular(t *testing.T, from time.Time) {
	t.Helper()
	f.waitAsked(t, from)
	until := time.Now()
	intervals := int(until.Sub(from) / interval)
	shortest, longest := time.Hour, time.Duration(0)
	pods, sum := 0, 0
	for _, pod := range f.snapshot() {
		if !pod.wanted || !pod.gone.IsZero() || pod.ran.After(from) {
			continue
		}
		times := pod.times(from, until)
		assert.LessOrEqual(t, len(times), intervals+2, pod.name)
		pods, sum = pods+1, sum+len(times)
		for i := 1; i < len(times); i++ {
			gap := times[i].Sub(times[i-1])
			shortest, longest = min(shortest, gap), max(longest, gap)
		}
	}
	t.Logf("%d pods were scraped %d times in %s, from one scrape to the next it took %s to %s", pods, sum,
		until.Sub(from).Round(time.Millisecond), shortest.Round(time.Millisecond), longest.Round(time.Millisecond))
	assert.GreaterOrEqual(t, sum, pods*intervals/2)
}

// waitNotAsked waits until no pod that is gone was asked for an interval and a half.
func (f *fleet) waitNotAsked(t *testing.T) {
	t.Helper()
	var latest time.Duration
	require.Eventually(t, func() bool {
		since := time.Now().Add(-interval * 3 / 2)
		gone, quiet := 0, true
		for _, pod := range f.snapshot() {
			if pod.gone.IsZero() {
				continue
			}
			gone++
			quiet = quiet && pod.gone.Before(since) && len(pod.times(since, time.Now())) == 0
			if number := len(pod.asked); number > 0 {
				latest = max(latest, pod.asked[number-1].at.Sub(pod.gone))
			}
		}
		return gone > 0 && quiet
	}, patience, 4*pollEvery, "a pod that is gone is asked")
	t.Logf("the last scrape of a pod that is gone began %s after that", latest.Round(time.Millisecond))
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
	assert.Zero(t, one.metric(t, "otelcol_exporter_send_failed_profile_samples"))
}

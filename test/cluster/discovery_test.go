// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// interval is the time from one scrape of a profile to the next.
	interval = 10 * time.Second
	// settle is how long the replicas scrape what they know before the test counts.
	settle = 5 * time.Second
	// fleetSize is the number of pods, silent those of them that are not to be scraped, churn those that go and come.
	fleetSize, silent, churn = 1000, 20, 100
)

// fetched is the profile that is fetched of each pod. Its counters are kept, which is the dearest.
const fetched = "allocs"

// TestDiscovery: a thousand pods that come and go, one replica and then two, and the API server away for a while. Times are
// logged. The assertions only count, since the pods, the API server and the replicas share the processors of one machine.
func TestDiscovery(t *testing.T) {
	f := newFleet(t, plane)
	t.Run("one replica", f.testOneReplica)
	t.Run("two replicas", f.testTwoReplicas)
}

// testOneReplica: every pod is found, and then scraped once in each interval.
func (f *fleet) testOneReplica(t *testing.T) {
	one := f.startReplica(t, 0, 1)
	idle := one.usage(t, time.Second)
	took := f.create(t, fleetSize, true)
	f.create(t, silent, false)
	t.Logf("%d pods created within %s", fleetSize, took.Round(time.Millisecond))
	f.waitAsked(t, time.Time{})
	assert.Equal(t, fleetSize, one.targets(t))
	f.assertFound(t)

	from := f.wait(3 * interval)
	after := one.usage(t, settle)
	f.assertEven(t, from)
	f.assertRegular(t, from)
	assert.Less(t, (after.heap-idle.heap)/fleetSize, int64(200<<10), "the heap for each target")
	assert.Less(t, after.anonymous, int64(409<<20), "the memory that the chart gives to an agent")
	f.assertDelivered(t, one)

	begin := time.Now()
	one.stop()
	t.Logf("stopped within %s", time.Since(begin).Round(time.Millisecond))
}

// testTwoReplicas: each pod is scraped by one of them, also while pods come and go, and while the API server is away.
func (f *fleet) testTwoReplicas(t *testing.T) {
	begin := time.Now()
	replicas := []replica{f.startReplica(t, 0, 2), f.startReplica(t, 1, 2)}
	require.Eventually(t, func() bool {
		return replicas[0].targets(t)+replicas[1].targets(t) == fleetSize
	}, patience, pollEvery, replicas[0].log)
	t.Logf("two new replicas know all pods after %s", time.Since(begin).Round(time.Millisecond))
	from := f.wait(interval + settle)
	f.waitAsked(t, from)
	f.assertShared(t, from, replicas)
	counters := replicas[0].counters(t) + replicas[1].counters(t)

	f.churn(t)
	assert.Equal(t, fleetSize, replicas[0].targets(t)+replicas[1].targets(t))
	f.assertShared(t, from, replicas)
	now := replicas[0].counters(t) + replicas[1].counters(t)
	t.Logf("counters that are kept: %d before pods went and came, %d after", counters, now)
	assert.InEpsilon(t, counters, now, 0.05, "what is kept of pods that are gone is forgotten")

	f.restartAPI(t, replicas)
	f.assertShared(t, from, replicas)
}

// churn deletes pods and creates others, a few at a time, and waits until those are scraped.
func (f *fleet) churn(t *testing.T) {
	t.Helper()
	const steps = 10
	from := time.Now()
	for range steps {
		f.delete(t, churn/steps)
		f.create(t, churn/steps, true)
	}
	t.Logf("%d pods deleted and as many created within %s", churn, time.Since(from).Round(time.Millisecond))
	f.waitAsked(t, time.Time{})
	f.assertFound(t)
	f.waitNotAsked(t)
	f.assertRegular(t, from)
}

// restartAPI kills the API server and starts it again. Scrapes go on meanwhile, and pods that come and go later are seen.
func (f *fleet) restartAPI(t *testing.T, replicas []replica) {
	t.Helper()
	f.stopAPI()
	f.assertRegular(t, f.wait(2*interval))
	begin := time.Now()
	require.NoError(t, f.startAPI())
	t.Logf("the API server was ready again after %s", time.Since(begin).Round(time.Millisecond))
	f.delete(t, 1)
	f.create(t, 1, true)
	begin = time.Now()
	f.waitAsked(t, time.Time{})
	t.Logf("a pod that was created then was scraped after %s", time.Since(begin).Round(time.Millisecond))
	require.Eventually(t, func() bool { // the other replica may reach the server later
		return replicas[0].targets(t)+replicas[1].targets(t) == fleetSize
	}, patience, pollEvery)
	f.waitAsked(t, time.Now())
}

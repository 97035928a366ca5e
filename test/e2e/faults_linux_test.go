// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/test/e2e/load"
)

const (
	// faultsMiB is the limit of the memory limiter, faultsGoMiB that of the Go runtime, as in docs/operations.md.
	faultsMiB   = 400
	faultsGoMiB = faultsMiB * 80 / 75
	// lateness is how long an upload can take beyond the end of the load.
	lateness = 3 * time.Minute
	// settling is the time without arrivals after which queued profiles count as lost.
	settling = 5 * time.Minute
)

// underFaults is a gateway with load on all receivers, to which faults happen.
type underFaults struct {
	*loaded
	// resident is the highest resident memory of all processes, and anonymous the highest part of it that is not mapped from files.
	resident  int64
	anonymous atomic.Int64
	// cpu is the CPU time of all processes.
	cpu time.Duration
	// lives are the processes that have ended. The current one began at begin.
	lives []life
	begin time.Time
}

// TestFaults sends uploads while faults happen. Then it accounts for every upload: each is answered as it should be, each refusal is
// counted, and what was accepted arrives as it was. `make soak-faults` runs it, and writes the figures to docs/reliability.md. With
// OTELPPROF_REQUIRE_FAULTS it is never skipped.
func TestFaults(t *testing.T) {
	text := os.Getenv("OTELPPROF_FAULTS_DURATION")
	if text == "" {
		require.Empty(t, os.Getenv("OTELPPROF_REQUIRE_FAULTS"), "OTELPPROF_FAULTS_DURATION is not set")
		t.Skip("OTELPPROF_FAULTS_DURATION is not set: run `make soak-faults`")
	}
	duration := must.Get(time.ParseDuration(text))(t)
	u := &underFaults{loaded: newLoadedWith(t, &loaded{
		queue: queueIn(t), memoryMiB: faultsMiB, environment: []string{fmt.Sprintf("GOMEMLIMIT=%dMiB", faultsGoMiB)},
	})}
	u.start(t)
	begin := time.Now()
	end := begin.Add(duration)
	sent := make(chan []load.Outcome, 1)
	go func() { sent <- u.sendUntil(t, end) }()
	faults := u.faults()
	u.cause(t, faults, end, max(4*time.Second, duration/60))
	r := faultsReport{duration: duration, faults: faults, outcomes: <-sent, took: time.Since(begin)}
	r.balance = u.waitUntilSettled()
	u.observe(t)
	var incorrect []string
	r.refusals, incorrect = compareRefusals(u.lives, r.outcomes)
	begin = time.Now()
	require.NoError(t, u.running.Stop(patience))
	r.shutdown = time.Since(begin)
	figures := r.text(u)
	t.Log("\n" + figures)
	assert.True(t, r.balance.Even(), "missing %.5q, unknown %.5q, changed %.5q", r.balance.Missing, r.balance.Unknown, r.balance.Changed)
	assert.Empty(t, incorrect, "counts of refusals")
	if path := os.Getenv("OTELPPROF_FAULTS_REPORT"); path != "" && !t.Failed() {
		replacePart(t, path, figures)
	}
}

// start starts the gateway, and watches its memory.
func (u *underFaults) start(t *testing.T) {
	t.Helper()
	u.begin = time.Now()
	u.loaded.start(t)
	watchMemory(t, u.running, &u.anonymous)
}

// sendUntil sends uploads until the end.
func (u *underFaults) sendUntil(t *testing.T, end time.Time) (outcomes []load.Outcome) {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), end.Add(lateness))
	defer cancel()
	var mu sync.Mutex
	u.upload(ctx, t, func(int64) bool { return time.Now().Before(end) }, func(outcome load.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		outcomes = append(outcomes, outcome)
	})
	return outcomes
}

// waitUntilSettled waits until everything that was sent has arrived, or nothing more does.
func (u *underFaults) waitUntilSettled() (balance profiletest.Balance) {
	missing := math.MaxInt
	for end := time.Now(); ; time.Sleep(time.Second) {
		balance = u.account.Balance()
		if now := len(balance.Missing); now < missing {
			missing, end = now, time.Now().Add(settling)
		}
		if missing == 0 || time.Now().After(end) {
			return balance
		}
	}
}

// fault is something that happens to the gateway or to its destination, and lasts until the destination is back.
type fault struct {
	name  string
	begin func(t *testing.T)
	// count is how often it was caused.
	count int
}

func (u *underFaults) faults() []*fault {
	return []*fault{
		{name: "the destination answers Unavailable", begin: func(*testing.T) { u.away() }},
		{name: "kill -9", begin: u.kill},
		{name: "the destination needs a second for each message", begin: func(*testing.T) { u.slow() }},
		{name: "kill -9 while the destination is down", begin: u.killWhileAway},
	}
}

// cause causes one fault after the other, each for a pause and with a pause before it.
func (u *underFaults) cause(t *testing.T, faults []*fault, end time.Time, pause time.Duration) {
	t.Helper()
	for i := 0; time.Until(end) > pause && !t.Failed(); i++ {
		time.Sleep(pause)
		f := faults[i%len(faults)]
		f.count++
		f.begin(t)
		time.Sleep(min(pause, time.Until(end)))
		u.back()
	}
}

func (u *underFaults) slow() {
	u.destination.Take(func(ctx context.Context, pd pprofile.Profiles) error {
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		u.account.Arrived(pd)
		return nil
	})
}

// kill restarts the gateway after a kill at some moment within a second.
func (u *underFaults) kill(t *testing.T) {
	t.Helper()
	time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
	u.observe(t)
	u.running.Kill()
	u.start(t)
}

// killWhileAway kills the gateway when its queue holds what came for two seconds.
func (u *underFaults) killWhileAway(t *testing.T) {
	t.Helper()
	u.away()
	time.Sleep(2 * time.Second)
	u.kill(t)
}

// observe notes what the process took, and which refusals it counted. The next process starts at 0.
func (u *underFaults) observe(t *testing.T) {
	t.Helper()
	process := must.Get(u.running.Process())(t)
	u.resident = max(u.resident, process.Peak)
	u.cpu += process.CPU
	l := life{begin: u.begin, asked: time.Now()}
	l.counts = readRefusals(t, get(t, "http://"+u.metrics+"/metrics"))
	l.answered = time.Now()
	u.lives = append(u.lives, l)
}

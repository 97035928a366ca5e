// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"hash/fnv"
	"maps"
	"sync"
	"time"
)

// discoveredJob is a job with a timer: many thousands wait without a goroutine of their own.
type discoveredJob struct {
	*job
	identity string
	interval time.Duration
	// ownPort says that the URL has the port at which the target was discovered.
	ownPort bool
	// invalid is why the profile cannot be fetched.
	invalid error

	mu       sync.Mutex
	cancel   context.CancelFunc
	timer    *time.Timer
	next     time.Time
	fetching bool
	stopped  bool
}

// key is the same for jobs that would fetch the same.
func (j *job) key() string { return j.profile.Name + " " + j.url.String() }

func (j *discoveredJob) key() string { return j.identity }

// equal reports whether both fetch the same, equally often, from the same resource.
func (j *discoveredJob) equal(other *discoveredJob) bool {
	return j == other || j.identity == other.identity && j.interval == other.interval && j.timeout == other.timeout &&
		j.profile == other.profile && maps.Equal(j.labels, other.labels)
}

// start waits for the place of the job in the interval, which the hash of its key decides: so that thousands of targets that
// are discovered at the same time are not fetched at the same time.
func (j *discoveredJob) start(jobs *discoveredJobs) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.invalid != nil {
		jobs.state.set(j.url.Redacted(), j.invalid)
		return
	}
	ctx, cancel := context.WithCancel(jobs.rounds.ctx)
	now := time.Now()
	j.cancel, j.next = cancel, now.Add(untilPlace(now, j.interval, j.identity))
	j.timer = time.AfterFunc(j.next.Sub(now), func() { j.fire(ctx, jobs) })
}

// fire fetches once, and sets the timer again.
func (j *discoveredJob) fire(ctx context.Context, jobs *discoveredJobs) {
	j.mu.Lock()
	if j.stopped {
		j.mu.Unlock()
		return
	}
	j.fetching = true
	jobs.rounds.running.Add(1)
	j.mu.Unlock()
	defer jobs.rounds.running.Done()

	outcome, err := jobs.round(ctx, jobs.client, j.job)

	j.mu.Lock()
	defer j.mu.Unlock()
	j.fetching = false
	if j.stopped {
		j.tracker.release()
		return
	}
	jobs.report(ctx, j, outcome, err)
	now := time.Now()
	for j.next = j.next.Add(j.interval); !j.next.After(now); {
		j.next = j.next.Add(j.interval)
	}
	j.timer.Reset(j.next.Sub(now))
}

// stop ends the job, and a fetch that is under way. The counters of the target are forgotten.
func (j *discoveredJob) stop() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stopped = true
	if j.timer == nil {
		return
	}
	j.timer.Stop()
	j.cancel()
	if !j.fetching {
		j.tracker.release()
	}
}

// untilPlace returns the time to the place of a key in an interval. Places do not depend on when the process was started.
func untilPlace(now time.Time, interval time.Duration, key string) time.Duration {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(key))
	length := uint64(interval)
	place := hash.Sum64() % length
	passed := (uint64(now.UnixNano()) - place) % length
	return time.Duration(length - passed)
}

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

// discoveredJob is a job with a timer. It has no goroutine while it waits, because there can be many thousands.
type discoveredJob struct {
	*job
	// identity is the key of the job.
	identity string
	interval time.Duration
	// ownPort says that the host and port of the URL are those with which the target was discovered.
	ownPort bool
	// invalid says why the settings of the target do not allow a fetch, or is nil.
	invalid error

	mu       sync.Mutex
	cancel   context.CancelFunc
	timer    *time.Timer
	next     time.Time
	fetching bool
	stopped  bool
}

// key returns the name of the profile and the URL. Jobs with equal keys would fetch the same profile.
func (j *job) key() string { return j.profile.Name + " " + j.url.String() }

func (j *discoveredJob) key() string { return j.identity }

// equal reports whether both fetch the same, equally often, from the same resource.
func (j *discoveredJob) equal(other *discoveredJob) bool {
	return j == other || j.identity == other.identity && j.interval == other.interval && j.timeout == other.timeout &&
		j.profile == other.profile && maps.Equal(j.labels, other.labels)
}

// start sets the timer for the first fetch. A hash of the key decides when that is within the interval, so that the receiver does not
// fetch thousands of targets at the same time that were discovered at the same time.
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

// stop ends the job, cancels a fetch in progress, and releases what delta has kept of the target.
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

func (j *discoveredJob) hasStopped() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stopped
}

// untilPlace returns the time until the next fetch for a key. The times of the fetches depend on the key and the clock, and not on the
// start of the process.
func untilPlace(now time.Time, interval time.Duration, key string) time.Duration {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(key))
	length := uint64(interval)
	place := hash.Sum64() % length
	passed := (uint64(now.UnixNano()) - place) % length
	return time.Duration(length - passed)
}

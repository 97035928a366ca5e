// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// scheduler runs the tasks of a section and reports their state. A task that waits has no goroutine, because there
// can be many thousands.
type scheduler struct {
	// ctx is the parent of the contexts of all runs, which outlive the start of the section.
	ctx context.Context
	// health is set when the section starts.
	health  *health
	running sync.WaitGroup

	mu sync.Mutex
	// tasks are those that have been started and not stopped. It is nil after the shutdown.
	tasks map[*task]bool
}

// task is a fetch that is repeated. It never overlaps itself.
type task struct {
	// target is its name in the component status.
	target string
	// run fetches once. Its context ends when the task is stopped.
	run func(context.Context) error
	// end is called after the last run.
	end func()

	// jitter is the longest time, of random length, by which a run begins later.
	jitter   time.Duration
	schedule ScheduleConfig
	timer    *time.Timer
	// due is when the next run should begin, without jitter.
	due time.Time
	// cancel cancels the run in progress. It is nil while there is none.
	cancel context.CancelFunc
}

func newScheduler() *scheduler {
	return &scheduler{ctx: context.Background(), tasks: map[*task]bool{}}
}

// start runs a task after its initial delay, and then in each interval.
func (s *scheduler) start(t *task, schedule ScheduleConfig) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks == nil {
		return
	}
	s.tasks[t] = true
	t.schedule, t.due = schedule, time.Now().Add(schedule.InitialDelay)
	t.timer = time.AfterFunc(schedule.InitialDelay+randomBelow(t.jitter), func() { s.run(s.ctx, t) })
}

// run runs a task once, unless it was stopped, and sets its timer again.
func (s *scheduler) run(ctx context.Context, t *task) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	if !s.tasks[t] {
		s.mu.Unlock()
		return
	}
	t.cancel = cancel
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()

	err := t.run(ctx)

	s.mu.Lock()
	defer s.mu.Unlock()
	t.cancel = nil
	if !s.tasks[t] {
		t.end()
		return
	}
	s.health.set(t.target, err)
	t.timer.Reset(t.untilNext(time.Now()) + randomBelow(t.jitter))
}

// untilNext sets the time of the next run, and returns how long that is from now. After a run that took longer than the interval it is
// 0: the next run begins late, and the times of those after it do not move.
func (t *task) untilNext(now time.Time) time.Duration {
	t.due = t.due.Add(t.schedule.CollectionInterval)
	if late := now.Sub(t.due); late > 0 {
		t.due = t.due.Add(late.Truncate(t.schedule.CollectionInterval))
	}
	return max(0, t.due.Sub(now))
}

// stop stops a task. It cancels a run in progress, without waiting for it.
func (s *scheduler) stop(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks[t] {
		delete(s.tasks, t)
		t.stop()
	}
}

// stop is called with the lock of the scheduler.
func (t *task) stop() {
	t.timer.Stop()
	if t.cancel != nil {
		t.cancel()
		return
	}
	t.end()
}

// shutdown stops all tasks, and waits for the runs in progress until ctx ends. No task can start afterwards.
func (s *scheduler) shutdown(ctx context.Context) error {
	s.mu.Lock()
	for t := range s.tasks {
		t.stop()
	}
	s.tasks = nil
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func randomBelow(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(rand.Int64N(int64(d))) //nolint:gosec // it spreads load, it guards nothing
}

// withTimeout is [context.WithTimeout], in which 0 is no limit.
func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelpprof/otelpprof/test/tools/load"
)

// fault is a failure, and its end some time later.
type fault struct {
	name  string
	begin func(context.Context) error
	end   func(context.Context) error
	// count is how often it was caused.
	count int
}

// faults are the failures of a run. They are caused in this order, repeatedly.
func (r *run) faults() []*fault {
	none := func(context.Context) error { return nil }
	return []*fault{
		{name: "the destination answers Unavailable", begin: r.destinationFails, end: r.destinationRecovers},
		{name: "kill -9", begin: r.kill, end: none},
		{name: "the destination needs a second for each message", begin: r.destinationSlows, end: r.destinationRecovers},
		{name: "kill -9 while the destination is down", begin: r.killWhileAway, end: r.destinationRecovers},
	}
}

// causeFaults causes one fault after the other, with pauses, until ctx ends. Every fault has ended when it returns.
func (r *run) causeFaults(ctx context.Context, faults []*fault, pause time.Duration) error {
	for i := 0; sleep(ctx, pause); i++ {
		f := faults[i%len(faults)]
		f.count++
		if err := f.begin(ctx); err != nil {
			return fmt.Errorf("cannot cause the fault (%s): %w", f.name, err)
		}
		sleep(ctx, pause)
		// A fault that has begun must end, also after ctx has ended.
		if err := f.end(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("cannot end the fault (%s): %w", f.name, err)
		}
	}
	return nil
}

// sleep reports whether the time passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (r *run) destinationFails(context.Context) error {
	r.destination.Take(func(context.Context, pprofile.Profiles) error { return status.Error(codes.Unavailable, "away") })
	return nil
}

func (r *run) destinationSlows(context.Context) error {
	r.destination.Take(func(ctx context.Context, pd pprofile.Profiles) error {
		sleep(ctx, time.Second)
		return r.arrived(ctx, pd)
	})
	return nil
}

func (r *run) destinationRecovers(context.Context) error {
	r.destination.Take(r.arrived)
	return nil
}

// kill kills the gateway at a random moment, and starts it again.
func (r *run) kill(ctx context.Context) error {
	sleep(ctx, time.Duration(rand.IntN(1000))*time.Millisecond) //nolint:gosec // nolint:gosec // the moments only have to differ
	// Start the gateway also after ctx has ended.
	if err := r.observe(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	r.running.Kill()
	// The process must outlive the time of the faults.
	return r.start()
}

func (r *run) killWhileAway(ctx context.Context) error {
	if err := r.destinationFails(ctx); err != nil {
		return err
	}
	sleep(ctx, 2*time.Second)
	return r.kill(ctx)
}

// lateness is how long an upload can take beyond the end of the run.
const lateness = 3 * time.Minute

// makeLoad sends uploads until the time is over, and returns the result of each.
func makeLoad(ctx context.Context, o *options, uploads *load.Uploads, targets load.Targets) (outcomes []load.Outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.duration+lateness)
	defer cancel()
	end := time.Now().Add(o.duration)
	var next atomic.Int64
	var mu sync.Mutex
	var group sync.WaitGroup
	for range o.senders {
		group.Go(func() {
			failure := sendUntil(ctx, end, uploads, targets, &next, func(outcome load.Outcome) {
				mu.Lock()
				defer mu.Unlock()
				outcomes = append(outcomes, outcome)
			})
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, failure)
		})
	}
	group.Wait()
	return outcomes, err
}

// sendUntil sends one upload after the other, and calls done with the result of each.
func sendUntil(ctx context.Context, end time.Time, uploads *load.Uploads, targets load.Targets, next *atomic.Int64, done func(load.Outcome)) error {
	sender, err := load.NewSender(uploads, targets)
	if err != nil {
		return err
	}
	defer sender.Close()
	for time.Now().Before(end) {
		outcome, err := sender.Send(ctx, int(next.Add(1)-1))
		if err != nil {
			return err
		}
		done(outcome)
	}
	return nil
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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

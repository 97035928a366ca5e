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

// fault is something that goes wrong, and is right again some time later.
type fault struct {
	name  string
	begin func(context.Context) error
	end   func(context.Context) error
	// made counts how often it was.
	made int
}

// faults are those of a run, in the order in which they come again and again.
func (r *run) faults() []*fault {
	none := func(context.Context) error { return nil }
	all := []*fault{
		{name: "the destination answers Unavailable", begin: r.destinationFails, end: r.destinationHeals},
		{name: "kill -9", begin: r.kill, end: none},
		{name: "the destination takes a second for each message", begin: r.destinationSlows, end: r.destinationHeals},
		{name: "kill -9 while the destination is away", begin: r.killWhileAway, end: r.destinationHeals},
	}
	if r.fullDisk {
		all = append(all, &fault{name: "the disk of the queue is full", begin: r.fillDisk, end: r.freeDisk})
	}
	return all
}

// disturb makes one fault after the other, with pauses between, until ctx ends. All is right when it returns.
func (r *run) disturb(ctx context.Context, faults []*fault, pause time.Duration) error {
	for i := 0; sleep(ctx, pause); i++ {
		f := faults[i%len(faults)]
		f.made++
		if err := f.begin(ctx); err != nil {
			return fmt.Errorf("cannot have a fault (%s): %w", f.name, err)
		}
		sleep(ctx, pause)
		// What has begun must end, also when the time is over.
		if err := f.end(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("cannot end a fault (%s): %w", f.name, err)
		}
	}
	return nil
}

// sleep tells whether ctx goes on.
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

func (r *run) destinationHeals(context.Context) error {
	r.destination.Take(r.arrived)
	return nil
}

// kill ends the gateway at a moment that nothing else knows of, and starts it again.
func (r *run) kill(ctx context.Context) error {
	sleep(ctx, time.Duration(rand.IntN(1000))*time.Millisecond) //nolint:gosec // the moments only have to differ
	// Also when the time is over, the gateway is to be there.
	if err := r.observe(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	r.running.Kill()
	// The process is to live longer than the time of the faults.
	return r.start()
}

func (r *run) killWhileAway(ctx context.Context) error {
	if err := r.destinationFails(ctx); err != nil {
		return err
	}
	sleep(ctx, 2*time.Second)
	return r.kill(ctx)
}

func (r *run) fillDisk(context.Context) error { return r.disk.fill() }

func (r *run) freeDisk(context.Context) error { return r.disk.free() }

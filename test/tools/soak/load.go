// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelpprof/otelpprof/test/tools/load"
)

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

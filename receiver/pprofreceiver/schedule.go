// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// ScheduleConfig is when something is fetched.
type ScheduleConfig struct {
	// CollectionInterval is the time from one round to the next. A round that takes longer delays the next.
	CollectionInterval time.Duration `mapstructure:"collection_interval"`
	// InitialDelay is the time from the start to the first round.
	InitialDelay time.Duration `mapstructure:"initial_delay"`
	// Jitter is the longest time, of random length, by which each round begins later.
	Jitter time.Duration `mapstructure:"jitter"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func defaultSchedule() ScheduleConfig {
	return ScheduleConfig{CollectionInterval: 10 * time.Second, InitialDelay: time.Second}
}

// Validate checks the durations.
func (cfg *ScheduleConfig) Validate() error {
	var errs []error
	errs = append(errs,
		configcheck.Positive("collection_interval", cfg.CollectionInterval),
		configcheck.NotNegative("initial_delay", cfg.InitialDelay),
		configcheck.NotNegative("jitter", cfg.Jitter),
	)
	return errors.Join(errs...)
}

// rounds calls functions periodically until it is stopped.
type rounds struct {
	running sync.WaitGroup
	ctx     context.Context
	cancel  context.CancelFunc
}

func newRounds() *rounds {
	r := &rounds{}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// start starts to call round periodically. stop cancels its context.
func (r *rounds) start(schedule ScheduleConfig, round func(context.Context)) {
	r.running.Go(func() {
		if !sleep(r.ctx, schedule.InitialDelay) {
			return
		}
		ticker := time.NewTicker(schedule.CollectionInterval)
		defer ticker.Stop()
		for sleep(r.ctx, randomBelow(schedule.Jitter)) {
			round(r.ctx)
			select {
			case <-ticker.C:
			case <-r.ctx.Done():
				return
			}
		}
	})
}

// stop stops all rounds and waits for those in progress until ctx ends.
func (r *rounds) stop(ctx context.Context) error {
	r.cancel()
	ended := make(chan struct{})
	go func() {
		r.running.Wait()
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

// sleep reports whether the time has passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

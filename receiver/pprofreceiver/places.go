// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"time"
)

// places bound how many requests are worked on at a time, and thereby the memory that they take together.
type places struct {
	taken chan struct{}
	wait  time.Duration
}

func newPlaces(count int, wait time.Duration) *places {
	return &places{taken: make(chan struct{}, count), wait: wait}
}

// take takes a place, waiting for one if need be. Each place taken must be left.
func (p *places) take(ctx context.Context) error {
	select {
	case p.taken <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(p.wait)
	defer timer.Stop()
	select {
	case p.taken <- struct{}{}:
		return nil
	case <-timer.C:
		return refuse(classBusy, "%d requests are being worked on (max_concurrent_requests), and no place came free within %s", cap(p.taken), p.wait)
	case <-ctx.Done():
		return refuse(classAborted, "the sender did not wait for its turn: %w", ctx.Err())
	}
}

func (p *places) leave() { <-p.taken }

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"slices"
	"sync"
	"time"
)

// expectedRatio is how much larger a body is taken to be after decompression, until that is known. Most pprofs are gzip
// and become two to five times as large.
const expectedRatio = 4

// room bounds the bytes, after decompression, that are worked on at a time: what a profile takes while it is translated
// and handed on is about ten times that, which a number of requests says nothing about. First come, first served.
type room struct {
	size int
	wait time.Duration

	mu   sync.Mutex
	used int
	// overdrawn is the claim that may be above size, of which there is one at a time: a request that turns out larger
	// than expected must not wait for others that wait as well.
	overdrawn *claim
	// growing wait for more than they have, coming for their first. The growing go first: they hold something.
	growing, coming []*waiter
}

// waiter is a request that waits for bytes.
type waiter struct {
	claim   *claim
	bytes   int
	granted chan struct{}
}

// claim is the part of a request. It is not for concurrent use; the lock of the room guards bytes.
type claim struct {
	room  *room
	bytes int
}

func newRoom(size int, wait time.Duration) *room { return &room{size: size, wait: wait} }

// take claims bytes for a request, waiting for them if need be. One that asks for more than there is gets all. Each
// claim must be left.
func (r *room) take(ctx context.Context, bytes int) (*claim, error) {
	c := &claim{room: r}
	return c, r.await(ctx, &waiter{claim: c, bytes: min(bytes, r.size), granted: make(chan struct{})}, &r.coming)
}

// atLeast makes the claim one of so many bytes, if it is less.
func (c *claim) atLeast(ctx context.Context, bytes int) error {
	if bytes <= c.bytes {
		return nil
	}
	return c.room.await(ctx, &waiter{claim: c, bytes: bytes - c.bytes, granted: make(chan struct{})}, &c.room.growing)
}

// atMost gives back what is above so many bytes.
func (c *claim) atMost(bytes int) {
	r := c.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes >= c.bytes {
		return
	}
	r.used -= c.bytes - bytes
	c.bytes = bytes
	if r.overdrawn == c && (r.used <= r.size || bytes == 0) {
		r.overdrawn = nil
	}
	r.grant()
}

// leave gives all back.
func (c *claim) leave() { c.atMost(0) }

// await stands in a queue until the bytes are granted.
func (r *room) await(ctx context.Context, w *waiter, queue *[]*waiter) error {
	r.mu.Lock()
	*queue = append(*queue, w)
	r.grant()
	r.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	default:
	}
	timer := time.NewTimer(r.wait)
	defer timer.Stop()
	var err error
	select {
	case <-w.granted:
		return nil
	case <-timer.C:
		err = refuse(classBusy, "%d bytes of profiles are being worked on (max_concurrent_bytes), and none came free within %s", r.size, r.wait)
	case <-ctx.Done():
		err = gaveUp(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(*queue, w)
	if i < 0 {
		return nil // Granted in the last moment.
	}
	*queue = slices.Delete(*queue, i, i+1)
	r.grant() // It may have stood before others who need less.
	return err
}

// grant lets in who can be, in order. The lock is held.
func (r *room) grant() {
	for len(r.growing) > 0 {
		w := r.growing[0]
		if r.used+w.bytes > r.size {
			if r.overdrawn != nil && r.overdrawn != w.claim {
				return
			}
			r.overdrawn = w.claim
		}
		r.growing = slices.Delete(r.growing, 0, 1)
		r.give(w)
	}
	for len(r.coming) > 0 && r.used+r.coming[0].bytes <= r.size {
		w := r.coming[0]
		r.coming = slices.Delete(r.coming, 0, 1)
		r.give(w)
	}
}

func (r *room) give(w *waiter) {
	r.used += w.bytes
	w.claim.bytes += w.bytes
	close(w.granted)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"sync"
	"time"
)

var errBreaker = errors.New("the server is not asked after several failures")

const (
	failuresToOpen = 5
	breakerPause   = time.Minute
)

// breaker stops requests to a server that fails. After a pause, one request tries it.
type breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time
}

func (b *breaker) allow() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); b.failures >= failuresToOpen {
		if now.Before(b.until) {
			return errBreaker
		}
		b.until = now.Add(breakerPause)
	}
	return nil
}

func (b *breaker) failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	b.until = time.Now().Add(breakerPause)
}

func (b *breaker) succeeded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = 0
}

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

// breaker stops requests to a server that fails. After a pause, one search at a time tries it.
type breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time
	trying   bool
}

// allow returns what is to be called when the search ends.
func (b *breaker) allow() (end func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < failuresToOpen {
		return func() {}, nil
	}
	if b.trying || time.Now().Before(b.until) {
		return nil, errBreaker
	}
	b.trying = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.trying = false
	}, nil
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

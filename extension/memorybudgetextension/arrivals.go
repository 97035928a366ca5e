// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"container/list"
	"sync"
	"time"
)

const (
	// evictionPause is between two evictions: the first one takes a while to free its memory.
	evictionPause = 20 * time.Millisecond
	// longestPause is how long a sender is kept waiting for memory that others are told to free.
	longestPause = time.Second
	// poll is how often it looks whether they have.
	poll = 5 * time.Millisecond
	// mostArriving is how many requests may be arriving at a time. Each has a goroutine, whatever has arrived of it.
	mostArriving = 2048
)

// arrivals are the requests that have not arrived as a whole. They share a number of bytes. Where these are short, the one
// that began first has to go: whoever takes longest holds most for nothing.
type arrivals struct {
	limit int64

	mu      sync.Mutex
	used    int64
	oldest  *list.List // of *arrival
	evicted time.Time  // when one had to go
}

// arrival is a request that is being received.
type arrival struct {
	all     *arrivals
	element *list.Element
	// evict ends it.
	evict func()
}

func newArrivals(limit int64) *arrivals { return &arrivals{limit: limit, oldest: list.New()} }

// begin adds a request, which ends with [arrival.end]. evict must not block; it may be called once, from anywhere.
func (a *arrivals) begin(evict func()) *arrival {
	one := &arrival{all: a, evict: evict}
	a.mu.Lock()
	defer a.mu.Unlock()
	one.element = a.oldest.PushBack(one)
	if a.oldest.Len() > mostArriving {
		a.evictOldest()
	}
	return one
}

// end removes the request: it has arrived, or will not. It reports whether that had not been done.
func (one *arrival) end() bool {
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	return one.all.remove(one)
}

func (a *arrivals) remove(one *arrival) bool {
	if one.element == nil {
		return false
	}
	a.oldest.Remove(one.element)
	one.element = nil
	return true
}

// evictOldest ends the oldest request, if there is one. The lock is held.
func (a *arrivals) evictOldest() {
	if front := a.oldest.Front(); front != nil {
		one := front.Value.(*arrival)
		a.remove(one)
		one.evict()
		a.evicted = time.Now()
	}
}

// add takes bytes for what arrives, for one of the requests, or nil if it is not known for which. Where they are short it
// waits a little for those that it evicts, but not if it was evicted itself.
func (a *arrivals) add(one *arrival, bytes int64) {
	a.change(bytes)
	for begin := time.Now(); !a.makeRoom(one) && time.Since(begin) < longestPause; {
		time.Sleep(poll)
	}
}

// makeRoom reports whether there is nothing to wait for. It evicts a request if the one before had time to free what
// it held.
func (a *arrivals) makeRoom(one *arrival) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used > a.limit && time.Since(a.evicted) >= evictionPause {
		a.evictOldest()
	}
	return a.used <= a.limit || one != nil && one.element == nil
}

// change takes or gives back bytes at once.
func (a *arrivals) change(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used += bytes
}

func (a *arrivals) bytes() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"container/list"
	"sync"
	"time"
)

const (
	// evictionInterval is the least time between two evictions. An evicted request needs this time to free its memory.
	evictionInterval = 20 * time.Millisecond
	// maxWait limits how long a request waits until evicted requests have freed their memory.
	maxWait = time.Second
	// pollInterval is how often a waiting request checks for free memory.
	pollInterval = 5 * time.Millisecond
	// maxArriving limits the number of arriving requests. Each one has a goroutine, even if it has sent nothing yet.
	maxArriving = 2048
)

// arrivals holds the requests that have not arrived completely. They share a limit in bytes. If they exceed it, the oldest
// request is evicted: it is the one most likely to have stalled.
type arrivals struct {
	limit int64

	mu           sync.Mutex
	used         int64
	requests     *list.List // of *arrival, oldest first
	lastEviction time.Time
}

// arrival is a request that is being received.
type arrival struct {
	arrivals *arrivals
	// element is nil if the request is no longer in the list.
	element *list.Element
	// evict aborts the request.
	evict func()
}

func newArrivals(limit int64) *arrivals { return &arrivals{limit: limit, requests: list.New()} }

// begin adds a request. The caller must end it with [arrival.end]. evict must not block. It is called at most once, by any
// goroutine.
func (a *arrivals) begin(evict func()) *arrival {
	added := &arrival{arrivals: a, evict: evict}
	a.mu.Lock()
	defer a.mu.Unlock()
	added.element = a.requests.PushBack(added)
	if a.requests.Len() > maxArriving {
		a.evictOldest()
	}
	return added
}

// end removes the request, because it has arrived or was aborted. It returns false if the request was removed before.
func (request *arrival) end() bool {
	request.arrivals.mu.Lock()
	defer request.arrivals.mu.Unlock()
	return request.arrivals.remove(request)
}

// remove is [arrival.end]. The caller holds the lock.
func (a *arrivals) remove(request *arrival) bool {
	if request.element == nil {
		return false
	}
	a.requests.Remove(request.element)
	request.element = nil
	return true
}

// evictOldest aborts the oldest request, if there is one. The caller holds the lock.
func (a *arrivals) evictOldest() {
	if front := a.requests.Front(); front != nil {
		oldest := front.Value.(*arrival)
		a.remove(oldest)
		oldest.evict()
		a.lastEviction = time.Now()
	}
}

// add counts received bytes. request is nil if the bytes cannot be assigned to a request. Above the limit, add evicts
// requests and waits up to maxWait until they have freed memory. It does not wait if request itself was evicted.
func (a *arrivals) add(request *arrival, bytes int64) {
	a.adjust(bytes)
	for begin := time.Now(); !a.enforceLimit(request) && time.Since(begin) < maxWait; {
		time.Sleep(pollInterval)
	}
}

// enforceLimit evicts a request if the limit is exceeded and evictionInterval has passed. It returns true if the caller need
// not wait.
func (a *arrivals) enforceLimit(request *arrival) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used > a.limit && time.Since(a.lastEviction) >= evictionInterval {
		a.evictOldest()
	}
	return a.used <= a.limit || request != nil && request.element == nil
}

// adjust adds bytes to the count, or subtracts them if bytes is negative. It never waits.
func (a *arrivals) adjust(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used += bytes
}

func (a *arrivals) bytes() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}

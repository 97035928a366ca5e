// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"container/list"
	"sync"
	"time"
)

const (
	// maxWait limits how long a request waits for memory.
	maxWait = time.Second
	// pollInterval is how often a waiting request checks for free memory.
	pollInterval = 5 * time.Millisecond
	// maxArriving limits the number of arriving requests. Each one has a goroutine, even if it has sent nothing yet.
	maxArriving = 2048
	// One part in keptPart of the limit is kept for requests that need at most one part in smallPart of it: ordinary requests
	// arrive while large ones wait.
	keptPart  = 8
	smallPart = 32
)

// arrivals holds the requests that have not arrived completely. They share a limit in bytes.
//
// A request over HTTP reserves its bytes before it allocates them, so these requests never exceed the limit together. If a request
// does not fit, it waits, and others that have stalled are evicted. Of requests that wait for each other, those that began last are
// evicted, so that the others arrive.
//
// gRPC does not tell which request a buffer is for, and cannot refuse one: it waits, then allocates the buffer. If the limit is
// exceeded then, the oldest requests are evicted: they are the most likely to have stalled.
type arrivals struct {
	limit int64

	mu sync.Mutex
	// used counts all bytes, reserved those of requests that reserve. freeing are those of evicted requests among them, which
	// will be free soon.
	used, reserved, freeing int64
	requests                *list.List // of *arrival, oldest first
	lastEviction            time.Time
}

// arrival is a request that is being received.
type arrival struct {
	arrivals *arrivals
	// element is nil if the request is no longer in the list.
	element *list.Element
	// abort aborts the request.
	abort func()
	// reserves reports whether the request reserves its bytes, held is how many it has.
	reserves bool
	held     int64
	// large reports whether the request can need more than one part in smallPart of the limit.
	large bool
	// waiting reports whether the request waits for memory.
	waiting bool
	// began and progressed are times. received counts the bytes since progressed.
	began, progressed time.Time
	received          int64
	// delayed reports whether the request has waited in vain for buffers of gRPC to be freed.
	delayed bool
	evicted bool
}

func newArrivals(limit int64) *arrivals { return &arrivals{limit: limit, requests: list.New()} }

// begin adds a request whose bytes are not known. The caller must end it with [arrival.end]. abort must not block. It is called at
// most once, by any goroutine, if the request is evicted.
func (a *arrivals) begin(abort func()) *arrival { return a.insert(&arrival{arrivals: a, abort: abort}) }

// beginReserving is [arrivals.begin] for a request that reserves its bytes, and has announced their number, or -1. The caller must
// also call [arrival.release].
func (a *arrivals) beginReserving(announced int64, abort func()) *arrival {
	// The pieces of a body are up to twice as large as the body.
	large := announced < 0 || announced > a.limit/smallPart/2
	return a.insert(&arrival{arrivals: a, abort: abort, reserves: true, large: large})
}

func (a *arrivals) insert(added *arrival) *arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	added.began = time.Now()
	added.progressed = added.began
	added.element = a.requests.PushBack(added)
	if a.requests.Len() > maxArriving {
		a.evict(a.requests.Front().Value.(*arrival))
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

// progress counts bytes of the body that have arrived.
func (request *arrival) progress(bytes int) {
	request.arrivals.mu.Lock()
	defer request.arrivals.mu.Unlock()
	if request.received += int64(bytes); request.received >= progressBytes {
		request.received, request.progressed = 0, time.Now()
	}
}

// reserve counts bytes that the request is about to allocate. Above the limit it waits for up to maxWait, while others are evicted.
// If there is no memory then, it evicts the request itself. It returns errEvicted if the request is evicted: it must not allocate
// the bytes then.
func (request *arrival) reserve(bytes int64) error {
	for begin := time.Now(); ; time.Sleep(pollInterval) {
		reserved, err := request.arrivals.try(request, bytes, time.Since(begin) >= maxWait)
		if reserved || err != nil {
			return err
		}
	}
}

// try is one attempt of [arrival.reserve].
func (a *arrivals) try(request *arrival, bytes int64, last bool) (reserved bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	limit := a.limitOf(request)
	fits := a.used+bytes <= limit
	if !fits && (last || request.delayed) && a.reserved+bytes <= limit {
		// Buffers of gRPC can stay counted until a garbage collection. They delay the request once, but do not refuse it.
		fits, request.delayed = true, true
	}
	fits = fits && (!request.large || !a.olderWaits(request))
	switch {
	case request.evicted:
	case fits:
		a.count(request, bytes)
		request.waiting, request.progressed = false, time.Now()
	case last:
		a.evict(request)
	default:
		request.waiting = true
		a.makeRoom(request, bytes, limit)
	}
	if request.evicted {
		return false, errEvicted
	}
	return fits, nil
}

// limitOf returns the limit for a request. The caller holds the lock.
func (a *arrivals) limitOf(request *arrival) int64 {
	if !request.large || request.held == a.reserved {
		return a.limit
	}
	return a.limit - a.limit/keptPart
}

// count adds bytes to those of a request that reserves, or subtracts them if bytes is negative. The caller holds the lock.
func (a *arrivals) count(request *arrival, bytes int64) {
	a.used += bytes
	a.reserved += bytes
	request.held += bytes
	if request.evicted {
		a.freeing += bytes
	}
}

// release gives all bytes of a request back.
func (request *arrival) release() {
	a := request.arrivals
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count(request, -request.held)
}

// add counts received bytes that cannot be assigned to a request. Above the limit, it evicts requests and waits for up to maxWait
// until they have freed memory.
func (a *arrivals) add(bytes int64) {
	a.adjust(bytes)
	for begin := time.Now(); a.exceeded() && time.Since(begin) < maxWait; {
		time.Sleep(pollInterval)
	}
}

// exceeded reports whether the limit is exceeded. Then it evicts requests.
func (a *arrivals) exceeded() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.evictOldest(a.used-a.limit-a.freeing, true)
	return a.used > a.limit
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

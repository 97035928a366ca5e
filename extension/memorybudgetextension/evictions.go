// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import "time"

const (
	// evictionInterval is the least time between two evictions of requests over gRPC. An evicted request needs this time to free
	// its memory, and the others can arrive completely in it.
	evictionInterval = 20 * time.Millisecond
	// A request has stalled if less than progressBytes of it have arrived for stallTime, or if it has not arrived completely
	// within maxAge.
	stallTime     = 250 * time.Millisecond
	progressBytes = 64 << 10
	maxAge        = 5 * time.Second
)

// makeRoom evicts requests until there is room below the limit for bytes of a request, or will be soon. The caller holds the lock.
func (a *arrivals) makeRoom(needy *arrival, bytes, limit int64) {
	missing := a.reserved + bytes - limit - a.freeing
	missing -= a.evictStalled(missing)
	missing -= a.evictWaiting(needy, missing)
	if missing <= 0 { // Only bytes of gRPC are in the way.
		a.evictOldest(a.used+bytes-limit-a.freeing, false)
	}
}

// evictStalled evicts stalled requests, oldest first, until they free this many bytes. It returns the bytes that will be free. The
// caller holds the lock.
func (a *arrivals) evictStalled(bytes int64) (freed int64) {
	now := time.Now()
	for element := a.requests.Front(); element != nil && freed < bytes; {
		request := element.Value.(*arrival)
		element = element.Next()
		if request.held > 0 && request.stalled(now) {
			a.evict(request)
			freed += request.held
		}
	}
	return freed
}

// stalled reports whether a request that reserves has stalled, see stallTime.
func (request *arrival) stalled(now time.Time) bool {
	return !request.waiting && (now.Sub(request.progressed) >= stallTime || now.Sub(request.began) >= maxAge)
}

// evictWaiting is [arrivals.evictStalled] for large requests that wait themselves, youngest first. A large request does so only if
// it is the oldest of them. The caller holds the lock.
func (a *arrivals) evictWaiting(needy *arrival, bytes int64) (freed int64) {
	if needy.large && a.olderWaits(needy) {
		return 0
	}
	for element := a.requests.Back(); element != nil && freed < bytes; {
		request := element.Value.(*arrival)
		element = element.Prev()
		if request != needy && request.held > 0 && request.large && request.waiting {
			a.evict(request)
			freed += request.held
		}
	}
	return freed
}

// olderWaits reports whether a large request waits that is older than this one. The caller holds the lock.
func (a *arrivals) olderWaits(request *arrival) bool {
	for element := a.requests.Front(); element != nil; element = element.Next() {
		switch older := element.Value.(*arrival); {
		case older == request:
			return false
		case older.large && older.waiting:
			return true
		}
	}
	return false
}

// evictOldest evicts requests, oldest first, until they free this many bytes: all, or only those over gRPC. It does so at most once
// per evictionInterval. The caller holds the lock.
func (a *arrivals) evictOldest(bytes int64, all bool) {
	if bytes <= 0 || time.Since(a.lastEviction) < evictionInterval {
		return
	}
	a.lastEviction = time.Now()
	for element := a.requests.Front(); element != nil && bytes > 0; {
		request := element.Value.(*arrival)
		element = element.Next()
		switch {
		case !request.reserves:
			a.evict(request) // Nobody knows what it frees. The next time shows whether that was enough.
			return
		case all && request.held > 0:
			a.evict(request)
			bytes -= request.held
		}
	}
}

// evict aborts a request that is in the list. The caller holds the lock.
func (a *arrivals) evict(request *arrival) {
	a.remove(request)
	request.evicted = true
	a.freeing += request.held
	request.abort()
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"container/list"
	"io"
	"sync"
	"time"
)

const (
	// A body has stalled if less than 64 KiB of it have arrived for stallTime, or if it is still arriving after maxArrivalTime. It is
	// refused if another one needs its memory.
	stallTime      = 250 * time.Millisecond
	maxArrivalTime = 5 * time.Second
	// One part in keptPart of the memory is kept for bodies that need at most one part in smallPart of it: ordinary bodies arrive
	// while large ones use the rest.
	keptPart  = 8
	smallPart = 32
)

// rateGrace is the time after which the minimum rate applies. It is longer than a reservation of memory waits.
const rateGrace = 10 * time.Second

// arrivals limits the memory of bodies that are still arriving, or waiting to be processed, to a part of the memory
// budget, so that slow senders leave memory for others. If a body does not fit, the bodies that have stalled longest are
// refused first, then the large bodies that began last. So large bodies arrive even if there are many more than fit.
type arrivals struct {
	// limit is in bytes.
	limit int64
	// minRate is in bytes per second. 0 means no minimum.
	minRate int64

	mu   sync.Mutex
	held int64
	// incomplete has the bodies that are still arriving. The first one has stalled longest.
	incomplete list.List
	// last is the number of the newest body.
	last uint64
}

// arrival is one body. It reads from the sender.
type arrival struct {
	all    *arrivals
	sender io.Reader
	// header is the memory of the request's header, in bytes. announced is the length of the body, or -1.
	header, announced int64
	// expire makes a pending read from the sender fail.
	expire func()
	// began is the time of the first byte.
	began time.Time
	timer *time.Timer
	// number orders bodies by their begin.
	number uint64
	large  bool

	// The lock of arrivals protects the fields below.
	got  int64
	held int64
	// progressed is the time of the last progress.
	progressed time.Time
	// element is the entry in incomplete. It is nil once the body is complete or refused.
	element *list.Element
	refusal error
}

// begin adds a body of which only the header has arrived. The caller must call end.
func (one *arrival) begin() error {
	a := one.all
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	one.number, one.progressed = a.last, time.Now()
	one.large = one.announced < 0 || max(firstBufferBytes, 2*one.announced)+one.header > a.limit/smallPart
	one.element = a.incomplete.PushBack(one)
	one.hold(0)
	return one.refusal
}

// Read reads from the sender. It fails if the body has been refused in the meantime.
func (one *arrival) Read(p []byte) (int, error) {
	n, err := one.sender.Read(p)
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	if n > 0 && one.refusal == nil {
		one.account(int64(n))
	}
	if one.refusal != nil {
		return 0, one.refusal
	}
	return n, err
}

// account counts bytes that have arrived. Every 64 KiB count as progress, and are charged twice, since a full buffer is
// doubled. The caller must hold the lock.
func (one *arrival) account(bytes int64) {
	a := one.all
	before := one.got
	one.got += bytes
	switch {
	case before == 0:
		one.began = time.Now()
		if a.minRate > 0 {
			one.timer = time.AfterFunc(rateGrace, one.checkRate)
		}
	case before/firstBufferBytes != one.got/firstBufferBytes:
		one.progressed = time.Now()
		a.incomplete.MoveToBack(one.element)
	default:
		return
	}
	one.hold(max(firstBufferBytes, 2*(one.got-one.got%firstBufferBytes)))
}

// hold charges the body with these bytes and its header. If they do not fit, it refuses other bodies, or this one. The
// caller must hold the lock.
func (one *arrival) hold(bytes int64) {
	a := one.all
	bytes += one.header
	if bytes > a.limit {
		one.refuse(refuse(classTooLarge, "the body needs %d bytes of memory, arriving bodies may use %d", bytes, a.limit))
	}
	for one.refusal == nil && a.held+bytes-one.held > a.limitOf(one) {
		refused, why := a.victim()
		refused.refuse(refuse(classMemory, "arriving bodies use all of their memory, %d bytes, and this one %s", a.limit, why))
	}
	if one.refusal == nil {
		a.held += bytes - one.held
		one.held = bytes
	}
}

// limitOf returns the limit for a body. The caller must hold the lock.
func (a *arrivals) limitOf(one *arrival) int64 {
	if !one.large || one.held == a.held {
		return a.limit
	}
	return a.limit - a.limit/keptPart
}

// victim returns the body to refuse, and the reason. The caller must hold the lock.
func (a *arrivals) victim() (victim *arrival, why string) {
	const stalled = "has stalled for longest"
	first := a.incomplete.Front().Value.(*arrival)
	if time.Since(first.progressed) >= stallTime {
		return first, stalled
	}
	var oldest, newest *arrival
	for element := a.incomplete.Front(); element != nil; element = element.Next() {
		one := element.Value.(*arrival)
		if one.late() && (oldest == nil || one.number < oldest.number) {
			oldest = one
		}
		if one.large && (newest == nil || one.number > newest.number) {
			newest = one
		}
	}
	switch {
	case oldest != nil:
		return oldest, "has taken longest to arrive"
	case newest != nil:
		return newest, "began last"
	}
	return first, stalled
}

// late reports whether the body is still arriving after maxArrivalTime.
func (one *arrival) late() bool {
	return !one.began.IsZero() && time.Since(one.began) >= maxArrivalTime
}

// checkRate refuses the body if it arrives too slowly. Otherwise it schedules the next check for the earliest time at
// which that is possible.
func (one *arrival) checkRate() {
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	if one.element == nil {
		return
	}
	allowed := rateGrace + time.Duration(float64(one.got)/float64(one.all.minRate)*float64(time.Second))
	if left := allowed - time.Since(one.began); left > 0 {
		one.timer.Reset(left)
		return
	}
	one.refuse(refuse(classTooSlow, "%d bytes of the body arrived in %s, min_body_rate is %d per second", one.got, allowed, one.all.minRate))
}

// refuse stops the body from arriving. Its memory is released soon, and the budget waits for that. The caller must hold
// the lock.
func (one *arrival) refuse(why error) {
	one.refusal = why
	one.remove()
	one.expire()
}

// remove removes the charge of the body. The caller must hold the lock.
func (one *arrival) remove() {
	one.removeIncomplete()
	one.all.held -= one.held
	one.held = 0
}

func (one *arrival) removeIncomplete() {
	if one.element != nil {
		one.all.incomplete.Remove(one.element)
		one.element = nil
	}
}

// complete marks the body as complete, so that it can no longer be refused. It returns an error if it was refused before.
func (one *arrival) complete() error {
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	one.removeIncomplete()
	return one.refusal
}

// end removes the charge of the body. The body must not be read afterwards.
func (one *arrival) end() {
	if one.timer != nil {
		one.timer.Stop()
	}
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	one.remove()
}

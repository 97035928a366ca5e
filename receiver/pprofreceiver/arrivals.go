// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"container/list"
	"io"
	"sync"
	"time"
)

// rateGrace is how long a body may arrive at any rate. It is longer than a reservation of memory waits.
const rateGrace = 10 * time.Second

// arrivals limits the memory of the bodies that are still arriving, or that wait to be processed, to a part of the memory
// budget. So slow senders leave the rest to others. Where a body does not fit, those are refused first of which nothing has
// arrived for longest.
type arrivals struct {
	// limit is in bytes.
	limit int64
	// minRate is in bytes per second, 0 is none.
	minRate int64

	mu   sync.Mutex
	held int64
	// incomplete has the bodies that are still arriving. The first is the one of which nothing has arrived for longest.
	incomplete list.List
}

// arrival is one body. It reads from the sender.
type arrival struct {
	all    *arrivals
	sender io.Reader
	// header is the memory of the request's header, in bytes.
	header int64
	// expire makes a pending read from the sender fail.
	expire func()
	began  time.Time
	timer  *time.Timer

	// The lock of arrivals guards the rest.
	got  int64
	held int64
	// element is the body in incomplete. It is nil once the body is complete or refused.
	element *list.Element
	refusal error
}

// begin adds a body of which only the header has arrived. The caller must call end.
func (one *arrival) begin() error {
	a := one.all
	a.mu.Lock()
	defer a.mu.Unlock()
	one.element = a.incomplete.PushBack(one)
	one.hold(0)
	return one.refusal
}

// Read reads from the sender. It fails if the body has been refused meanwhile.
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

// account adds bytes that have arrived. Each 64 KiB count as progress, and are charged twice: the buffer doubles when it is
// full. The lock is held.
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
		a.incomplete.MoveToBack(one.element)
	default:
		return
	}
	one.hold(max(firstBufferBytes, 2*(one.got-one.got%firstBufferBytes)))
}

// hold charges the body with these bytes and its header. If they do not fit, it refuses others, or this body. The lock is
// held.
func (one *arrival) hold(bytes int64) {
	a := one.all
	bytes += one.header
	if bytes > a.limit {
		one.refuse(refuse(classTooLarge, "the body needs %d bytes of memory, arriving bodies may use %d", bytes, a.limit))
	}
	for one.refusal == nil && a.held+bytes-one.held > a.limit {
		stalled, _ := a.incomplete.Front().Value.(*arrival)
		stalled.refuse(refuse(classMemory, "arriving bodies use all the memory that they may, %d bytes, and this one has stalled for longest", a.limit))
	}
	if one.refusal == nil {
		a.held += bytes - one.held
		one.held = bytes
	}
}

// checkRate refuses the body if it arrives too slowly. Else it runs again at the earliest time when that could be so.
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

// refuse stops the body from arriving. Its memory becomes free soon; the budget waits for that. The lock is held.
func (one *arrival) refuse(why error) {
	one.refusal = why
	one.remove()
	one.expire()
}

// remove uncharges the body. The lock is held.
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

// complete says that all of the body has arrived: nothing refuses it from now on. The error says that something did before.
func (one *arrival) complete() error {
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	one.removeIncomplete()
	return one.refusal
}

// end uncharges the body. It must not be read from any more.
func (one *arrival) end() {
	if one.timer != nil {
		one.timer.Stop()
	}
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	one.remove()
}

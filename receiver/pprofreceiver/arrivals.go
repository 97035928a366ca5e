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

// arrivals are the bodies that arrive, or wait for a place. They hold a part of the memory budget at most, so that
// whoever sends slowly leaves the rest to others: where one does not fit, those that have stood still for longest are
// refused.
type arrivals struct {
	// limit is in bytes.
	limit int64
	// minRate is in bytes per second, 0 is none.
	minRate int64

	mu   sync.Mutex
	held int64
	// incomplete are the bodies that still arrive, the one that has stood still for longest first.
	incomplete list.List
}

// arrival is a body, behind its header. It reads from the sender.
type arrival struct {
	all    *arrivals
	sender io.Reader
	// header is what the header of the request holds, in bytes.
	header int64
	// expire ends the reading.
	expire func()
	began  time.Time
	timer  *time.Timer

	// The lock of arrivals guards the rest.
	got  int64
	held int64
	// place is that in incomplete, nil once the body is whole or refused.
	place   *list.Element
	refusal error
}

// begin adds a body, of which only the header has come. It must be ended.
func (one *arrival) begin() error {
	a := one.all
	a.mu.Lock()
	defer a.mu.Unlock()
	one.place = a.incomplete.PushBack(one)
	one.hold(0)
	return one.refusal
}

// Read reads from the sender. The error may be that the body was refused meanwhile.
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

// account adds bytes that have come. Every 64 KiB are a sign of life, and take twice that: memory grows in steps. The
// lock is held.
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
	case before/beginningBytes != one.got/beginningBytes:
		a.incomplete.MoveToBack(one.place)
	default:
		return
	}
	one.hold(max(beginningBytes, 2*(one.got-one.got%beginningBytes)))
}

// hold lets the body hold so many bytes, beside its header. The lock is held.
func (one *arrival) hold(bytes int64) {
	a := one.all
	bytes += one.header
	if bytes > a.limit {
		one.refuse(refuse(classTooLarge, "the body needs %d bytes of memory, bodies that arrive may have %d", bytes, a.limit))
	}
	for one.refusal == nil && a.held+bytes-one.held > a.limit {
		stalest, _ := a.incomplete.Front().Value.(*arrival)
		stalest.refuse(refuse(classMemory, "bodies that arrive have all memory that they may, %d bytes, and this one has stood still for longest", a.limit))
	}
	if one.refusal == nil {
		a.held += bytes - one.held
		one.held = bytes
	}
}

// checkRate refuses a body that is slower than it may be, and else comes back when it could be.
func (one *arrival) checkRate() {
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	if one.place == nil {
		return
	}
	allowed := rateGrace + time.Duration(float64(one.got)/float64(one.all.minRate)*float64(time.Second))
	if left := allowed - time.Since(one.began); left > 0 {
		one.timer.Reset(left)
		return
	}
	one.refuse(refuse(classTooSlow, "%d bytes of the body came in %s, min_body_rate is %d a second", one.got, allowed, one.all.minRate))
}

// refuse gives the body up. What it holds becomes free soon; the budget waits for that. The lock is held.
func (one *arrival) refuse(why error) {
	one.refusal = why
	one.leave()
	one.expire()
}

// leave takes the body out of the account. The lock is held.
func (one *arrival) leave() {
	if one.place != nil {
		one.all.incomplete.Remove(one.place)
		one.place = nil
	}
	one.all.held -= one.held
	one.held = 0
}

// whole tells that all has come. The error says that the body was refused before.
func (one *arrival) whole() error {
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	if one.place != nil {
		one.all.incomplete.Remove(one.place)
		one.place = nil
	}
	return one.refusal
}

// end takes the body out of the account.
func (one *arrival) end() {
	if one.timer != nil {
		one.timer.Stop()
	}
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	one.leave()
}

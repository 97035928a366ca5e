// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"runtime"
	"sync"
)

// profilerRates has the process-wide rates of mutex and block profiles. Several receivers can set them. After the last
// one stops, the rates are the original ones.
var profilerRates rates

type rates struct {
	mu     sync.Mutex
	users  int
	before int // of mutexes
	blocks bool
}

// set sets the rates. A rate of 0 or less leaves the current one. Each call must be followed by a call of restore.
func (r *rates) set(block, mutex int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users++; r.users == 1 {
		r.before = runtime.SetMutexProfileFraction(-1)
	}
	if mutex > 0 {
		runtime.SetMutexProfileFraction(mutex)
	}
	if block > 0 {
		runtime.SetBlockProfileRate(block)
		r.blocks = true
	}
}

// restore restores the rates. The runtime does not report the rate of block profiles; it becomes 0.
func (r *rates) restore() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users--; r.users > 0 {
		return
	}
	runtime.SetMutexProfileFraction(r.before)
	if r.blocks {
		runtime.SetBlockProfileRate(0)
		r.blocks = false
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"runtime"
	"sync"
)

// profilerRates are the rates of the process for mutex and block profiles. Several receivers may set them. When the last of
// them stops, the rates are what they were before the first.
var profilerRates rates

type rates struct {
	mu     sync.Mutex
	users  int
	before int // of mutexes
	blocks bool
}

// set sets the rates. A rate of 0 or less leaves the current one. Each call must be followed by one of restore.
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

// restore restores the rates. The runtime does not tell the rate for blocking; without set, it is 0.
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

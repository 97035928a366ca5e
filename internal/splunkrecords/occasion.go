// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunkrecords

import (
	"sync"
	"time"
)

// linesEvery is the least time between two lines about the same thing: a broken agent sends a record every second.
const linesEvery = 10 * time.Second

// occasion limits the rate of log lines about one thing. The zero value is ready for use.
type occasion struct {
	mu    sync.Mutex
	next  time.Time
	count int
}

// report tells whether a line may be written, and how many times the thing has happened since the last one.
func (o *occasion) report(times int, now time.Time) (count int, allowed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count += times
	if now.Before(o.next) {
		return 0, false
	}
	count, o.count, o.next = o.count, 0, now.Add(linesEvery)
	return count, true
}

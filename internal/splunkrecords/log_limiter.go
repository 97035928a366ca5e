// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunkrecords

import (
	"sync"
	"time"
)

// logInterval is the least time between two lines. Without it, a faulty agent could cause a line per second.
const logInterval = 10 * time.Second

// logLimiter limits the rate of log lines. The zero value is ready for use.
type logLimiter struct {
	mu    sync.Mutex
	next  time.Time
	count int
}

// add counts events. It reports whether a line may be written now, and the number of events since the last line.
func (o *logLimiter) add(events int, now time.Time) (count int, allowed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count += events
	if now.Before(o.next) {
		return 0, false
	}
	count, o.count, o.next = o.count, 0, now.Add(logInterval)
	return count, true
}

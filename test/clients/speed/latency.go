// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"sync"
	"time"
)

// schedule is a load: of a closed loop, or of uploads that begin at fixed times and do not wait for answers.
type schedule struct {
	senders int
	// part is the share of the capacity. 0 is a closed loop: each sender begins its next upload when the last one has ended.
	part float64
	// latencies are from when an upload began, or should have begun. They are in the order of these times.
	latencies []time.Duration
}

// run sends so many uploads, with this time between two of them, or 0 in a closed loop.
func (l *schedule) run(s *sender, address string, u upload, between time.Duration, count int) error {
	l.latencies = make([]time.Duration, count)
	failed := make([]error, l.senders)
	begin := time.Now()
	var all sync.WaitGroup
	for i := range l.senders {
		all.Go(func() {
			for n := i; n < count && failed[i] == nil; n += l.senders {
				due := begin.Add(time.Duration(n) * between)
				if between == 0 {
					due = time.Now()
				}
				time.Sleep(time.Until(due))
				failed[i] = s.sendOne(address, u, s.sent+n)
				l.latencies[n] = time.Since(due)
			}
		})
	}
	all.Wait()
	s.sent += count
	return errors.Join(failed...)
}

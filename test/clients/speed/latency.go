// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"sync"
	"time"
)

// schedule is a load that does not wait for answers: each sender begins an upload at its times, or as soon as its last one ends.
type schedule struct {
	senders int
	// part is the share of the capacity.
	part float64
	// latencies are from when an upload should have begun. They are in the order of these times.
	latencies []time.Duration
}

// run sends for so long.
func (l *schedule) run(s *sender, address string, u upload, capacity float64, length time.Duration) error {
	between := time.Duration(float64(time.Second) / (l.part * capacity))
	count := int(length / between)
	l.latencies = make([]time.Duration, count)
	failed := make([]error, l.senders)
	begin := time.Now()
	var all sync.WaitGroup
	for i := range l.senders {
		all.Go(func() {
			for n := i; n < count && failed[i] == nil; n += l.senders {
				due := begin.Add(time.Duration(n) * between)
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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"time"
)

type options struct {
	binary  string
	base    string
	configs string
	// baseConfigs are the configurations of the base.
	baseConfigs string
	// shipped and variants choose the configurations to measure. Without them, everything is measured.
	shipped, variants string

	profile string
	rounds  int
	uploads int
	senders int
	tenants int
	load    time.Duration
	steady  time.Duration
}

// result is what was measured of one route.
type result struct {
	route
	// gateway and limit are CPU time per profile, one of each round.
	gateway, limit []time.Duration
}

// profiledOutputs are those for which measure takes a CPU profile.
var profiledOutputs = []output{otlp, files}

// measure sends the uploads on each route in rounds, and does the unavoidable work as often in between. Then it takes a CPU
// profile for each of profiledOutputs, with the first of the uploads.
func measure(o options, y yardsticks, uploads []upload) (results []*result, of []shares, err error) {
	for _, r := range routesOf(uploads) {
		results = append(results, &result{route: r})
	}
	g, err := newGateways(o.binary)
	defer func() { err = errors.Join(err, g.stop()) }()
	if err != nil {
		return nil, nil, err
	}
	byOutput := map[string]*measured{}
	for _, output := range outputs {
		if byOutput[output.name], err = g.start(context.Background(), output); err != nil {
			return nil, nil, err
		}
	}
	s := &sender{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.senders}}, at: o.senders}
	defer s.client.CloseIdleConnections()
	for round := range o.rounds + 1 {
		times, err := y.measure(o.uploads)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range results {
			if err := r.measure(byOutput[r.output.name], s, times, o.uploads, round > 0); err != nil {
				return nil, nil, fmt.Errorf("%s to %s: %w", r.upload.api, r.output.name, err)
			}
		}
	}
	for _, output := range profiledOutputs {
		one, err := byOutput[output.name].shares(s, uploads[0], o.load)
		if err != nil {
			return nil, nil, err
		}
		of = append(of, one)
	}
	return results, of, nil
}

// measure adds a round. The first one, which is not kept, warms the gateway up.
func (r *result) measure(m *measured, s *sender, times [parts]time.Duration, count int, keep bool) error {
	cost, err := m.cost(s, r.upload, count)
	if err != nil || !keep {
		return err
	}
	r.gateway = append(r.gateway, cost)
	r.limit = append(r.limit, sum(times, r.upload.parts, r.output.parts))
	return nil
}

// ownTime returns the CPU time of this process. Its resolution is a microsecond.
func ownTime() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}

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

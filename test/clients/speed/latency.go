// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
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

// scaling is what an upload costs processes with some numbers of processors, one of each round.
type scaling map[int][]time.Duration

var schedules = []*schedule{
	{senders: 1, part: 0.5},
	{senders: 1, part: 0.8},
	{senders: 16, part: 0.5},
	{senders: 16, part: 0.8},
	{senders: 64, part: 0.5},
	{senders: 64, part: 0.8},
}

// measureLatency measures a gateway with one processor, so that the other ones are for the senders: the capacity of it in uploads
// per second, and how long uploads take at parts of that. It also compares what an upload costs with one and with two processors.
func measureLatency(o options, u upload) (capacity float64, scale scaling, err error) {
	g, err := newGateways(o.binary)
	defer func() { err = errors.Join(err, g.stop()) }()
	if err != nil {
		return 0, nil, err
	}
	byProcessors := map[int]*measured{}
	for _, n := range []int{1, 2} {
		if byProcessors[n], err = g.start(context.Background(), otlp, fmt.Sprintf("GOMAXPROCS=%d", n)); err != nil {
			return 0, nil, err
		}
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	s := &sender{client: client, at: o.senders}
	scale = scaling{}
	for round := range o.rounds + 1 {
		for n, m := range byProcessors {
			cost, err := m.cost(s, u, o.uploads)
			if err != nil {
				return 0, nil, err
			}
			if round > 0 {
				scale[n] = append(scale[n], cost)
			}
		}
	}
	capacity = 1 / max(quantile(scale[1], 0.5), time.Millisecond/10).Seconds()
	for _, load := range schedules {
		if err := load.run(s, byProcessors[1].receivers[u.receiver], u, capacity, o.load); err != nil {
			return 0, nil, err
		}
	}
	return capacity, scale, nil
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

// renderLatency makes the section that follows that of render.
func renderLatency(o options, capacity float64, scale scaling) string {
	var out strings.Builder
	fmt.Fprintf(&out, `
### How long an upload takes

The same profile as raw pprof, to OTLP without a queue, with GOMAXPROCS=1. The capacity is 1 s divided by the CPU time of an upload, %.0f
uploads per second. Uploads are due at fixed times for %s at each load, and their time counts from when they are due.
[latency.md](latency.md) has a longer run, in which pages are drawn and files removed.

| senders | load | uploads | median | 99%% within |
|---:|---:|---:|---:|---:|
`, capacity, o.load)
	for _, l := range schedules {
		fmt.Fprintf(&out, "| %d | %.0f%% | %d | %s | %s |\n", l.senders, 100*l.part, len(l.latencies),
			milliseconds(quantile(l.latencies, 0.5)), milliseconds(quantile(l.latencies, 0.99)))
	}
	one, two := quantile(scale[1], 0.5), quantile(scale[2], 0.5)
	fmt.Fprintf(&out, `
With one processor an upload takes %s of CPU time, with two %s: two processors do %.2f times the work of one.
`, milliseconds(one), milliseconds(two), 2*float64(one)/float64(max(two, 1)))
	return out.String()
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/otelpprof/otelpprof/internal/gateway"
)

type options struct {
	binary  string
	profile string
	rounds  int
	uploads int
	senders int
}

// result is what was measured of one route.
type result struct {
	route
	// gateway and limit are CPU time per profile, one of each round.
	gateway, limit []time.Duration
	latencies      []time.Duration
}

// measure uploads the profile on each route in rounds, and does the unavoidable work as often in between.
func measure(o options, profile []byte) (results []*result, err error) {
	logs, err := logsOf(profile)
	if err != nil {
		return nil, err
	}
	y, err := newYardstick(profile, logs)
	if err != nil {
		return nil, err
	}
	uploads, err := uploadsOf(profile, y)
	if err != nil {
		return nil, err
	}
	for _, r := range routesOf(uploads) {
		results = append(results, &result{route: r})
	}
	g, err := startGateways(context.Background(), o.binary)
	defer func() { err = errors.Join(err, g.stop()) }()
	if err != nil {
		return nil, err
	}
	s := &sender{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.senders}}, at: o.senders}
	defer s.client.CloseIdleConnections()
	for round := range o.rounds + 1 {
		times, err := y.measure(o.uploads)
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			if err := r.measure(g, s, times, o.uploads, round > 0); err != nil {
				return nil, fmt.Errorf("%s to %s: %w", r.upload.api, r.output.name, err)
			}
		}
	}
	return results, nil
}

// measure adds a round. The first one, which is not kept, warms the gateway up.
func (r *result) measure(g *gateways, s *sender, times [parts]time.Duration, count int, keep bool) error {
	// The last measurement has left the gateway idle.
	before, err := gateway.CPUTime(g.running[r.output.name].PID())
	if err != nil {
		return err
	}
	latencies, err := s.send(g.addresses[r.output.name][r.upload.receiver], r.upload, count)
	if err != nil {
		return err
	}
	after, err := g.idleCPUTime(r.output)
	if err != nil || !keep {
		return err
	}
	limit := time.Duration(0)
	for _, p := range r.upload.parts {
		limit += times[p]
	}
	for _, p := range r.output.parts {
		limit += times[p]
	}
	r.gateway = append(r.gateway, (after-before)/time.Duration(count))
	r.limit = append(r.limit, limit)
	r.latencies = append(r.latencies, latencies...)
	return nil
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// pair is what was measured of one route with two builds.
type pair struct {
	route
	// base and head are CPU time per profile, one of each round.
	base, head []time.Duration
}

// measurePairs sends uploads on each route to the base and to the other build by turns.
func measurePairs(o options, routes []route) (pairs []*pair, err error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.senders}}
	defer client.CloseIdleConnections()
	s := &sender{client: client, at: o.senders}
	for _, r := range routes {
		p := &pair{route: r}
		if err := p.measure(o, s); err != nil {
			return nil, fmt.Errorf("%s to %s: %w", r.upload.api, r.output.name, err)
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// measure runs the two builds only for this route.
func (p *pair) measure(o options, s *sender) (err error) {
	g, err := newGateways(o.base)
	defer func() { err = errors.Join(err, g.stop()) }()
	if err != nil {
		return err
	}
	base, err := g.start(context.Background(), p.output)
	if err != nil {
		return err
	}
	g.binary = o.binary
	head, err := g.start(context.Background(), p.output)
	if err != nil {
		return err
	}
	// The first round, which is not kept, warms the processes up.
	for round := range o.rounds + 1 {
		baseCost, baseErr := base.cost(s, p.upload, o.uploads)
		headCost, headErr := head.cost(s, p.upload, o.uploads)
		if err := errors.Join(baseErr, headErr); err != nil {
			return err
		}
		if round > 0 {
			p.base, p.head = append(p.base, baseCost), append(p.head, headCost)
		}
	}
	return nil
}

// renderPairs makes the table of a comparison.
func renderPairs(o options, pairs []*pair) string {
	var out strings.Builder
	fmt.Fprintf(&out, `
## What an upload costs two builds

CPU time of the gateway for a profile, medians of %d rounds of %d uploads, %d under way at a time. In each round the base and this
build take the same uploads one after the other, and the ratio is of these two. Below 1 this build is cheaper; where the smallest and
the largest ratio lie on both sides of 1, the rounds do not agree.

| API | output | base | this build | ratio: median | smallest | largest |
|---|---|---:|---:|---:|---:|---:|
`, o.rounds, o.uploads, o.senders)
	for _, p := range pairs {
		ratios := make([]float64, len(p.base))
		for i := range ratios {
			ratios[i] = float64(p.head[i]) / float64(max(p.base[i], 1))
		}
		slices.Sort(ratios)
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %.2f | %.2f | %.2f |\n", p.upload.api, p.output.name,
			milliseconds(quantile(p.base, 0.5)), milliseconds(quantile(p.head, 0.5)),
			(ratios[(len(ratios)-1)/2]+ratios[len(ratios)/2])/2, ratios[0], ratios[len(ratios)-1])
	}
	return out.String()
}

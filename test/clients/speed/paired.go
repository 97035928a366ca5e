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

// pair is what was measured of one route, or of one shipped configuration, with two builds.
type pair struct {
	name   string
	upload upload
	// shipped reports whether it is a shipped configuration, which must not become dearer.
	shipped bool
	// start starts a process. The configurations are in the folder configs.
	start func(g *gateways, configs string) (*measured, error)
	// base and head are CPU time per profile, one of each round.
	base, head []time.Duration
}

// pairsOf returns the routes and the shipped configurations.
func pairsOf(uploads []upload, chosen []shipped) (pairs []*pair) {
	for _, r := range routesOf(uploads) {
		pairs = append(pairs, &pair{
			name: r.upload.api + " to " + r.output.name, upload: r.upload,
			start: func(g *gateways, _ string) (*measured, error) { return g.start(context.Background(), r.output) },
		})
	}
	for _, c := range chosen {
		pairs = append(pairs, &pair{
			name: c.String(), upload: c.uploadOf(uploads), shipped: true,
			start: func(g *gateways, configs string) (*measured, error) {
				return g.startShipped(context.Background(), configs, c)
			},
		})
	}
	return pairs
}

// measurePairs sends uploads to the base and to the other build by turns.
func measurePairs(o options, pairs []*pair) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.senders}}
	defer client.CloseIdleConnections()
	s := &sender{client: client, at: o.senders}
	for _, p := range pairs {
		if err := p.measure(o, s); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// measure runs the two builds only for this pair.
func (p *pair) measure(o options, s *sender) (err error) {
	g, err := newGateways(o.base)
	defer func() { err = errors.Join(err, g.stop()) }()
	if err != nil {
		return err
	}
	base, err := p.start(g, o.baseConfigs)
	if err != nil {
		return err
	}
	g.binary = o.binary
	head, err := p.start(g, o.configs)
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

// ratios returns the cost of this build divided by that of the base, in order.
func (p *pair) ratios() []float64 {
	ratios := make([]float64, len(p.base))
	for i := range ratios {
		ratios[i] = float64(p.head[i]) / float64(max(p.base[i], 1))
	}
	slices.Sort(ratios)
	return ratios
}

func median(sorted []float64) float64 { return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2 }

// dearerBy is how much dearer a shipped configuration may become. Less cannot be told from noise.
const dearerBy = 1.05

// checkPairs returns an error if a shipped configuration became dearer, in all rounds and by more than dearerBy in the median.
func checkPairs(pairs []*pair) error {
	var errs []error
	for _, p := range pairs {
		if ratios := p.ratios(); p.shipped && ratios[0] > 1 && median(ratios) > dearerBy {
			errs = append(errs, fmt.Errorf("%s costs %.2f times as much as before", p.name, median(ratios)))
		}
	}
	return errors.Join(errs...)
}

// renderPairs makes the table of a comparison.
func renderPairs(o options, pairs []*pair) string {
	var out strings.Builder
	fmt.Fprintf(&out, `
## What an upload costs two builds

CPU time of the gateway for a profile, medians of %d rounds of %d uploads, %d under way at a time. In each round the base and this
build take the same uploads one after the other, and the ratio is of these two. Below 1 this build is cheaper; where the smallest and
the largest ratio lie on both sides of 1, the rounds do not agree. Each build has its own shipped configurations.

| route or configuration | base | this build | ratio: median | smallest | largest |
|---|---:|---:|---:|---:|---:|
`, o.rounds, o.uploads, o.senders)
	for _, p := range pairs {
		ratios := p.ratios()
		fmt.Fprintf(&out, "| %s | %s | %s | %.2f | %.2f | %.2f |\n", p.name,
			milliseconds(quantile(p.base, 0.5)), milliseconds(quantile(p.head, 0.5)), median(ratios), ratios[0], ratios[len(ratios)-1])
	}
	return out.String()
}

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
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// patience is how long the gateway may take to end.
const patience = time.Minute

// gatewayConfig is a gateway that drops what it takes: what remains is the receiver.
const gatewayConfig = `yaml:
receivers:
  pprof:
    server: {endpoint: %s}
exporters:
  nop:
extensions:
  health_check:
    endpoint: %s
service:
  extensions: [health_check]
  pipelines:
    profiles:
      receivers: [pprof]
      exporters: [nop]
  telemetry:
    metrics:
      level: none
`

type options struct {
	binary  string
	profile string
	rounds  int
	uploads int
	senders int
}

// result is what was measured of one API.
type result struct {
	api, path string
	// gateway and decoding are CPU time per profile, one of each round.
	gateway, decoding []time.Duration
	latencies         []time.Duration
}

// measure uploads the profile in rounds, and translates it as often in between.
func measure(o options, profile []byte) (results []*result, err error) {
	uploads, err := uploadsOf(profile)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	addresses, err := gateway.FreeAddresses(ctx, 2)
	if err != nil {
		return nil, err
	}
	running, err := gateway.Start(ctx, gateway.Options{
		Binary: o.binary, Configs: []string{fmt.Sprintf(gatewayConfig, addresses[0], addresses[1])}, HealthURL: "http://" + addresses[1],
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, running.Stop(patience)) }()
	s := &sender{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.senders}}, url: "http://" + addresses[0], at: o.senders}
	defer s.client.CloseIdleConnections()
	for _, u := range uploads {
		results = append(results, &result{api: u.api, path: u.path})
	}
	for round := range o.rounds + 1 {
		for i, u := range uploads {
			if err := results[i].measure(s, u, profile, running.PID(), o.uploads, round > 0); err != nil {
				return nil, fmt.Errorf("%s: %w", u.api, err)
			}
		}
	}
	return results, nil
}

// measure adds a round. The first one, which is not kept, warms both sides up.
func (r *result) measure(s *sender, u upload, profile []byte, pid, count int, keep bool) error {
	before, err := gateway.CPUTime(pid)
	if err != nil {
		return err
	}
	latencies, err := s.send(u, count)
	if err != nil {
		return err
	}
	after, err := gateway.CPUTime(pid)
	if err != nil {
		return err
	}
	decoding, err := decodeTime(profile, count)
	if err != nil || !keep {
		return err
	}
	r.gateway = append(r.gateway, (after-before)/time.Duration(count))
	r.decoding = append(r.decoding, decoding)
	r.latencies = append(r.latencies, latencies...)
	return nil
}

// decodeTime is the CPU time of this process for translating the profile once.
func decodeTime(profile []byte, count int) (time.Duration, error) {
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	before, err := ownTime()
	if err != nil {
		return 0, err
	}
	for range count {
		if _, _, err := decoder.Decode(profile, pprof.Source{}); err != nil {
			return 0, err
		}
	}
	after, err := ownTime()
	return (after - before) / time.Duration(count), err
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"time"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/delta"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// deliverDifference passes on the difference from the profile before. The first profile is only kept. If the next consumer
// refuses a difference for now, the next difference includes it.
func (c *collector) deliverDifference(ctx context.Context, t *tracker, content []byte, source pprof.Source, m *requestMemory) (outcome string, err error) {
	payloads := c.in.newBatch(c.metrics, m)
	if err := payloads.add(ctx, payload{format: c.format, content: content, source: source}); err != nil {
		return outcomeOf(err), err
	}
	if len(payloads.messages) == 0 {
		return outcomeOK, nil
	}
	if err := c.reserve(ctx, t, payloads.samples, m); err != nil {
		return outcomeOf(err), err
	}
	applied := t.Apply(payloads.messages[0], time.Now())
	if err := c.remember(t); err != nil {
		return outcomeOf(err), err
	}
	if applied == delta.Baseline {
		t.commit()
		return outcomeBaseline, nil
	}
	err = c.deliverChanged(ctx, payloads)
	if err == nil || isAboutContent(err) {
		t.commit()
	}
	return outcomeOf(err), err
}

// deliverTargetDifference passes on a difference that the target has computed.
func (c *collector) deliverTargetDifference(ctx context.Context, content []byte, source pprof.Source, m *requestMemory) error {
	payloads := c.in.newBatch(c.metrics, m)
	if err := payloads.add(ctx, payload{format: c.format, content: content, source: source}); err != nil {
		return err
	}
	for _, message := range payloads.messages {
		delta.KeepCounters(message)
	}
	return c.deliverChanged(ctx, payloads)
}

// deliverChanged passes on profiles from which samples were removed.
func (c *collector) deliverChanged(ctx context.Context, payloads *batch) error {
	ctx = c.obs.StartProfilesOp(ctx)
	err := payloads.compact(ctx)
	samples := 0
	if err == nil {
		samples, err = payloads.deliver(ctx)
	}
	c.obs.EndProfilesOp(ctx, obsFormat, samples, err)
	return err
}

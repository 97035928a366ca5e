// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"time"

	"github.com/otelpprof/otelpprof/internal/configcheck"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/delta"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// DeltaMode says what becomes of profiles that count from the start of a program. Its values are DeltaComputed,
// DeltaTarget and DeltaOff.
type DeltaMode string

const (
	// DeltaComputed subtracts the profile before.
	DeltaComputed DeltaMode = "computed"
	// DeltaTarget asks the target for what happens within some seconds.
	DeltaTarget DeltaMode = "target"
	// DeltaOff hands them on as they are.
	DeltaOff DeltaMode = "off"
)

// UnmarshalText makes any other word an error when the configuration is read.
func (d *DeltaMode) UnmarshalText(text []byte) error {
	return configcheck.Word(d, text, "delta", DeltaComputed, DeltaTarget, DeltaOff)
}

// counts reports whether a profile of Go counts from the start of the program.
func counts(name string) bool {
	return name == profileAllocs || name == profileMutex || name == profileBlock
}

// deliverDifference hands on what has happened since the profile before. The first one is kept. One that is not handed
// on stays in the next difference.
func (c *collector) deliverDifference(ctx context.Context, t *tracker, payload []byte, source pprof.Source, m *memory) (outcome string, err error) {
	payloads := c.in.newBatch(c.way, c.legacy, m)
	if err := payloads.add(ctx, payload, source, times{}); err != nil {
		return outcomeOf(err), err
	}
	if len(payloads.messages) == 0 {
		return outcomeOK, nil
	}
	if err := t.reserve(ctx, payloads.samples, m); err != nil {
		return outcomeOf(err), err
	}
	if t.Apply(payloads.messages[0], time.Now()) == delta.Baseline {
		t.commit()
		return outcomeBaseline, nil
	}
	err = c.deliverChanged(ctx, payloads)
	if err == nil || isAboutContent(err) {
		t.commit()
	}
	return outcomeOf(err), err
}

// counterBytes is what a counter takes that is remembered.
const counterBytes = 64

// tracker is a [delta.Tracker] whose memory is reserved. It must be released.
type tracker struct {
	delta.Tracker
	// known is for what is subtracted, next for what will be.
	known, next *budget.Reservation
}

// reserve reserves memory for the counters of a profile, and as much again twice while they are compared.
func (t *tracker) reserve(ctx context.Context, samples int, m *memory) error {
	bytes := counterBytes * int64(samples)
	if err := m.grow(ctx, 3*bytes); err != nil {
		return err
	}
	t.next.Release()
	t.next = m.reservation.Take(bytes)
	return nil
}

func (t *tracker) commit() {
	t.Commit()
	t.known.Release()
	t.known, t.next = t.next, nil
}

func (t *tracker) release() {
	t.known.Release()
	t.next.Release()
}

// deliverTargetDifference hands on a difference that the target has made.
func (c *collector) deliverTargetDifference(ctx context.Context, payload []byte, source pprof.Source, m *memory) error {
	payloads := c.in.newBatch(c.way, c.legacy, m)
	if err := payloads.add(ctx, payload, source, times{}); err != nil {
		return err
	}
	for _, message := range payloads.messages {
		delta.KeepCounters(message)
	}
	return c.deliverChanged(ctx, payloads)
}

// deliverChanged hands on profiles from which samples were removed.
func (c *collector) deliverChanged(ctx context.Context, payloads *batch) error {
	ctx = c.obs.StartProfilesOp(ctx)
	err := payloads.compact(ctx)
	samples := 0
	if err == nil {
		samples, err = payloads.deliver(ctx)
	}
	c.obs.EndProfilesOp(ctx, format, samples, err)
	return err
}

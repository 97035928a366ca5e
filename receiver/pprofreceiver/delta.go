// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"fmt"
	"time"

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
	switch word := DeltaMode(text); word {
	case DeltaComputed, DeltaTarget, DeltaOff:
		*d = word
		return nil
	default:
		return fmt.Errorf("unknown delta %q, known are %q, %q and %q", text, DeltaComputed, DeltaTarget, DeltaOff)
	}
}

// counts reports whether a profile of Go counts from the start of the program.
func counts(name string) bool {
	return name == profileAllocs || name == profileMutex || name == profileBlock
}

// deliverDifference hands on what has happened since the profile before. The first one is kept. One that is not handed
// on stays in the next difference.
func (c *collector) deliverDifference(ctx context.Context, tracker *delta.Tracker, payload []byte, source pprof.Source, m *memory) (outcome string, err error) {
	payloads := c.in.newBatch(c.way, c.legacy, m)
	if err := payloads.add(ctx, payload, source, times{}); err != nil {
		return outcomeOf(err), err
	}
	if len(payloads.messages) == 0 {
		return outcomeOK, nil
	}
	if tracker.Apply(payloads.messages[0], time.Now()) == delta.Baseline {
		tracker.Commit()
		return outcomeBaseline, nil
	}
	err = c.deliverChanged(ctx, payloads)
	if err == nil || isAboutContent(err) {
		tracker.Commit()
	}
	return outcomeOf(err), err
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

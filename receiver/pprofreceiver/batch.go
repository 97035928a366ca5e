// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/walk"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// maxNamedRefusals is how many refused payloads an answer tells of. The others are counted.
const maxNamedRefusals = 3

// batch is the payloads of one request, or of one fetch. Each is translated by itself; what is good goes to the next
// consumer as one message. Payloads are only read, and not after add.
type batch struct {
	in     *intake
	way    *way
	legacy legacyFormats
	memory *memory

	messages []pprofile.Profiles
	stats    []pprof.DecodeStats
	samples  int
	inflated int
	// messageBytes is what messages take in memory.
	messageBytes int64
	refused      []error
}

// handlingFactor is how many times the memory of a message is reserved while it is handed on: as much again is for the
// copies that joining, deduplication and marshalling make.
const handlingFactor = 2

// times stand in for those that a payload does not have.
type times struct {
	start time.Time
	end   time.Time
}

func (in *intake) newBatch(w *way, legacy legacyFormats, m *memory) *batch {
	return &batch{in: in, way: w, legacy: legacy, memory: m}
}

// add translates a payload. The limits on the size of a payload and on its samples hold for all of a batch together;
// the error is then for the whole of it.
func (b *batch) add(ctx context.Context, payload []byte, source pprof.Source, span times) error {
	if len(payload) == 0 {
		// Clients send it to say that nothing happened. There is nothing to hand on.
		b.stats = append(b.stats, pprof.DecodeStats{})
		return nil
	}
	profiles, stats, err := b.in.translate(ctx, b.way, payload, source, b.legacy, b.memory)
	if err != nil {
		return err
	}
	if err := b.memory.keep(ctx, stats.MessageBytes); err != nil {
		return err
	}
	b.messageBytes += stats.MessageBytes
	span.fillIn(profiles)
	b.samples += stats.OTLPSamples
	b.inflated += stats.InflatedBytes
	b.messages = append(b.messages, profiles)
	b.stats = append(b.stats, stats)
	return nil
}

// addOneOf translates one of several payloads. If it is bad, the others go on without it; place says which one it was.
// An error is for the whole batch.
func (b *batch) addOneOf(ctx context.Context, place string, payload []byte, source pprof.Source, span times) error {
	if count, limit := len(b.stats)+len(b.refused), b.in.limits.Payloads; count == limit {
		return refuse(classTooLarge, "more than limits.payloads, %d, in one request", limit)
	}
	err := b.add(ctx, payload, source, span)
	if class := classify(err); err != nil && (class == classMemory || class == classAborted) {
		return err // It says nothing of the payload.
	}
	if err != nil {
		b.refused = append(b.refused, fmt.Errorf("%s: %w", place, err))
		return nil
	}
	if limit := b.in.limits.InflatedBytes; b.inflated > limit {
		return refuse(classTooLarge, "the profiles of the request inflate to more than limits.inflated_bytes, %d", limit)
	}
	if limit := b.in.limits.Samples; b.samples > limit {
		return refuse(classTooLarge, "the profiles of the request make more samples than limits.samples, %d", limit)
	}
	return nil
}

// deliver hands on what is good and returns the number of its samples. If something was left out, or everything, the
// error is a *partialError or tells of all.
func (b *batch) deliver(ctx context.Context) (samples int, err error) {
	if len(b.messages) > 0 {
		if err := b.memory.settle(ctx, handlingFactor*b.messageBytes); err != nil {
			return b.samples, err
		}
		message, err := combine(b.messages, b.in.allMappings)
		if err != nil {
			return b.samples, err
		}
		if err := b.in.hand(budget.NewContext(ctx, b.memory.reservation), message); err != nil {
			return b.samples, err
		}
	}
	for i := range b.stats {
		b.way.accepted(ctx, &b.stats[i])
	}
	return b.samples, b.refusal(ctx)
}

// compact makes the dictionaries small again, after something was removed from the messages. Payloads that were copied
// into profiles hold more than is left, and go as well.
func (b *batch) compact(ctx context.Context) error {
	if err := b.memory.settle(ctx, handlingFactor*b.messageBytes); err != nil {
		return err
	}
	b.samples = 0
	for i, message := range b.messages {
		small, err := rebuild([]pprofile.Profiles{message}, b.in.allMappings)
		if err != nil {
			return err
		}
		for profile := range walk.Profiles(small) {
			profile.OriginalPayload().FromRaw(nil)
			profile.SetOriginalPayloadFormat("")
		}
		b.messages[i] = small
		b.samples += small.SampleCount()
	}
	return nil
}

// refusal tells of the payloads that were left out.
func (b *batch) refusal(ctx context.Context) error {
	if len(b.refused) == 0 {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %d profiles refused", len(b.refused), len(b.refused)+len(b.stats))
	if len(b.stats) > 0 {
		text.WriteString(", the others are taken")
		for _, err := range b.refused {
			b.way.leftOut(ctx, classify(err))
		}
	}
	for i, err := range b.refused[:min(len(b.refused), maxNamedRefusals)] {
		text.WriteString([]string{": ", "; "}[min(i, 1)])
		text.WriteString(err.Error())
	}
	err := &refusal{class: classify(b.refused[0]), err: fmt.Errorf("%s", text.String())}
	if len(b.stats) > 0 {
		return &partialError{err}
	}
	return err
}

// partialError says that something was left out of a request, while the rest was taken.
type partialError struct{ *refusal }

func (p *partialError) Unwrap() error { return p.refusal }

// fillIn gives profiles without a time, or with one in 1970, the time that the request names. Some old clients write
// microseconds where nanoseconds belong.
func (t times) fillIn(profiles pprofile.Profiles) {
	if t.start.IsZero() {
		return
	}
	const oneYear = pcommon.Timestamp(365 * 24 * time.Hour)
	for profile := range walk.Profiles(profiles) {
		if profile.Time() > oneYear {
			continue
		}
		profile.SetTime(pcommon.NewTimestampFromTime(t.start))
		if profile.DurationNano() == 0 && t.end.After(t.start) {
			profile.SetDurationNano(uint64(t.end.Sub(t.start)))
		}
	}
}

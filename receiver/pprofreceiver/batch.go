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
	"github.com/otelpprof/otelpprof/internal/walk"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// maxNamedRefusals is how many refused payloads an answer names. The others are counted.
const maxNamedRefusals = 3

// payload is one payload of a request or of a fetch, with the information about it.
type payload struct {
	format  payloadFormat
	content []byte
	source  pprof.Source
	// times are used where the payload has none.
	times times
}

// batch collects the payloads of one request, or of one fetch. Each is translated by itself. Those that can be translated
// go to the next consumer as one message. The content of a payload is only read, and not after add.
type batch struct {
	in      *intake
	metrics *apiMetrics
	memory  *memory

	messages []pprofile.Profiles
	stats    []pprof.DecodeStats
	samples  int
	// inflated is the size of the payloads that were translated, wasted of those that were refused, after decompression.
	inflated, wasted int
	// messageBytes is the memory of the messages.
	messageBytes int64
	refused      []error
}

// consumeFactor is how many times the memory of a message is reserved while the next consumer has it. The second part is for
// the copies that joining, deduplication and marshalling make.
const consumeFactor = 2

// wasteFactor bounds the work on payloads that are refused: many small ones that inflate to much cost a processor for long.
const wasteFactor = 4

// times is the time range that a request names.
type times struct {
	start time.Time
	end   time.Time
}

func (in *intake) newBatch(metrics *apiMetrics, m *memory) *batch {
	return &batch{in: in, metrics: metrics, memory: m}
}

// add translates a payload. An error is for the whole batch.
func (b *batch) add(ctx context.Context, p payload) error {
	if len(p.content) == 0 {
		// Clients send an empty payload when nothing happened.
		b.stats = append(b.stats, pprof.DecodeStats{})
		return nil
	}
	profiles, stats, err := b.in.translate(ctx, b.metrics, p, b.memory)
	if err != nil {
		b.wasted += stats.InflatedBytes
		return err
	}
	if err := b.memory.keep(ctx, stats.MessageBytes); err != nil {
		return err
	}
	b.messageBytes += stats.MessageBytes
	p.times.setMissing(profiles)
	b.samples += stats.OTLPSamples
	b.inflated += stats.InflatedBytes
	b.messages = append(b.messages, profiles)
	b.stats = append(b.stats, stats)
	return nil
}

// addOneOf translates one of several payloads. If it cannot be translated, the batch goes on without it and refuses it by
// this name. The limits on inflated bytes and on samples are for all payloads together. An error is for the whole batch.
func (b *batch) addOneOf(ctx context.Context, name string, p payload) error {
	if count, limit := len(b.stats)+len(b.refused), b.in.limits.Payloads; count == limit {
		return refuse(classTooLarge, "more than limits.payloads, %d, in one request", limit)
	}
	err := b.add(ctx, p)
	if class := classify(err); err != nil && (class == classMemory || class == classAborted) {
		return err // The payload is not the cause.
	}
	if err != nil {
		b.refused = append(b.refused, fmt.Errorf("%s: %w", name, err))
		if limit := wasteFactor * int64(b.in.limits.InflatedBytes); int64(b.wasted) > limit {
			return refuse(classTooLarge, "the refused profiles of the request inflate to %d bytes, the limit is %d: %w", b.wasted, limit, err)
		}
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

// deliver passes the translated payloads to the next consumer and returns the number of their samples. The error is a
// *partialError if some payloads were refused, and another one if all were.
func (b *batch) deliver(ctx context.Context) (samples int, err error) {
	if len(b.messages) > 0 {
		if err := b.memory.replace(ctx, consumeFactor*b.messageBytes); err != nil {
			return b.samples, err
		}
		message, err := combine(b.messages, b.in.allMappings)
		if err != nil {
			return b.samples, err
		}
		if err := b.in.consume(budget.NewContext(ctx, b.memory.reservation), message); err != nil {
			return b.samples, err
		}
	}
	for i := range b.stats {
		b.metrics.accepted(ctx, &b.stats[i])
	}
	return b.samples, b.refusal(ctx)
}

// compact drops what the profiles do not refer to any more from the dictionaries, after samples were removed. It also drops
// the original payloads: they hold more than is left.
func (b *batch) compact(ctx context.Context) error {
	if err := b.memory.replace(ctx, consumeFactor*b.messageBytes); err != nil {
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

// refusal returns the error for the payloads that were refused, if there are any, and counts them.
func (b *batch) refusal(ctx context.Context) error {
	if len(b.refused) == 0 {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %d profiles refused", len(b.refused), len(b.refused)+len(b.stats))
	if len(b.stats) > 0 {
		text.WriteString(", the others are accepted")
		for _, err := range b.refused {
			b.metrics.payloadRefused(ctx, classify(err))
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

// partialError says that some payloads of a request were refused, and the others accepted.
type partialError struct{ *refusal }

func (p *partialError) Unwrap() error { return p.refusal }

// setMissing sets the time of profiles that have none, or one in 1970: some old clients write microseconds where
// nanoseconds belong.
func (t times) setMissing(profiles pprofile.Profiles) {
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

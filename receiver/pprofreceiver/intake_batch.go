// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// maxNamedRefusals limits the refused payloads that an answer describes. The others are only counted.
const maxNamedRefusals = 3

// batch collects the payloads of one request or fetch. It translates each payload separately, and passes the valid ones to the next
// consumer as one message. It does not change the content of a payload, and does not use the content after add. It is not safe for
// concurrent use.
type batch struct {
	in      *intake
	metrics *apiMetrics
	memory  *requestMemory

	messages []pprofile.Profiles
	stats    []pprof.DecodeStats
	samples  int
	// inflated is the decompressed size of the translated payloads in bytes, wasted is that of the refused ones.
	inflated, wasted int
	// messageBytes is the estimated memory of the messages.
	messageBytes int64
	refused      []error
	// overBudget is the number of refused payloads that need more than the memory budget.
	overBudget int
}

// wasteFactor limits the work on refused payloads of one request: many small payloads that inflate to large ones would otherwise
// use a CPU and the budget for a long time. It is the maximum number of payloads that need more than the budget, and the maximum of
// wasted as a multiple of limits.inflated_bytes.
const wasteFactor = 4

// add translates a payload and counts it. An error applies to the whole batch. It has a class, see [classOf].
func (b *batch) add(ctx context.Context, p payload) error {
	if len(p.content) == 0 {
		// Clients send an empty payload if there was no event.
		b.stats = append(b.stats, pprof.DecodeStats{})
		return nil
	}
	start := time.Now()
	b.memory.Clear() // Another payload may have needed too much.
	p.source.Reserve = b.memory.Reserve
	profiles, stats, err := p.format(p.content, p.source)
	b.metrics.translated(ctx, len(p.content), stats.InflatedBytes, time.Since(start))
	if err != nil {
		b.wasted += stats.InflatedBytes
		return refuseForeign(stats.Begin, err)
	}
	if err := b.memory.Use(stats.MessageBytes); err != nil {
		return err
	}
	b.messageBytes += stats.MessageBytes
	arrived := b.in.clock.next(time.Now())
	for profile := range walk.Profiles(profiles) {
		p.times.setMissing(profile)
		if profile.Time() == 0 {
			profile.SetTime(arrived) // It is no part of the id: a retry arrives at another time.
		}
	}
	b.samples += stats.OTLPSamples
	b.inflated += stats.InflatedBytes
	b.messages = append(b.messages, profiles)
	b.stats = append(b.stats, stats)
	return nil
}

// addOneOf translates one of several payloads. A payload that cannot be translated is refused by its name, and the batch
// continues without it. The limits on inflated bytes and samples apply to all payloads together. An error applies to the
// whole batch.
func (b *batch) addOneOf(ctx context.Context, name string, p payload) error {
	if count, limit := len(b.stats)+len(b.refused), b.in.limits.Payloads; count == limit {
		return newRefusal(tooLarge, "more than limits.payloads, %d, in one request", limit)
	}
	err := b.add(ctx, p)
	if class := classOf(err); err != nil && (class == outOfMemory || class == aborted) {
		return err // The payload is not the cause.
	}
	if err != nil {
		b.refused = append(b.refused, fmt.Errorf("%s: %w", name, err))
		if errors.Is(err, memory.ErrTooLarge) {
			b.overBudget++ // Nearly all of the budget was in use until then.
		}
		if b.overBudget > wasteFactor {
			return newRefusal(tooLarge, "%d profiles of the request need more than the memory budget, the limit is %d: %w", b.overBudget, wasteFactor, err)
		}
		if limit := wasteFactor * int64(b.in.limits.InflatedBytes); int64(b.wasted) > limit {
			return newRefusal(tooLarge, "the refused profiles of the request inflate to %d bytes, the limit is %d: %w", b.wasted, limit, err)
		}
		return nil
	}
	if limit := b.in.limits.InflatedBytes; b.inflated > limit {
		return newRefusal(tooLarge, "the profiles of the request inflate to more than limits.inflated_bytes, %d", limit)
	}
	if limit := b.in.limits.Samples; b.samples > limit {
		return newRefusal(tooLarge, "the profiles of the request make more samples than limits.samples, %d", limit)
	}
	return nil
}

// deliver passes the translated payloads to the next consumer, and returns the number of their samples. The error is a
// *partialError if only some payloads were refused.
func (b *batch) deliver(ctx context.Context) (samples int, err error) {
	if len(b.messages) > 0 {
		bytes := memory.MessageFactor * b.messageBytes
		// Only the message and the base are in use. The payloads must not be used any more.
		if err := b.memory.arrival.Resize(ctx, b.memory.base+bytes); err != nil {
			return b.samples, err
		}
		message := b.messages[0]
		if len(b.messages) > 1 {
			if message, err = combine(b.messages, b.in.kept...); err != nil {
				return b.samples, err
			}
		}
		if b.memory.leave != nil {
			b.memory.leave() // The next consumer may take long, and other requests can be processed meanwhile.
		}
		if b.in.closed.Load() {
			return b.samples, newRefusal(busy, "the receiver is shutting down")
		}
		reservation := b.memory.arrival.Split(bytes)
		defer reservation.Release()
		if err := b.in.next.ConsumeProfiles(memory.NewContext(ctx, reservation), message); err != nil {
			return b.samples, consumerError(ctx, err)
		}
	}
	for i := range b.stats {
		b.metrics.accepted(ctx, &b.stats[i])
	}
	if len(b.refused) > 0 {
		err = b.refusal(ctx)
	}
	return b.samples, err
}

// deliverChanged is deliver for profiles from which samples were removed. It removes what only they used from the dictionaries, and the
// original payloads, which contain them.
func (b *batch) deliverChanged(ctx context.Context) (samples int, err error) {
	if err := b.memory.arrival.Resize(ctx, b.memory.base+memory.MessageFactor*b.messageBytes); err != nil {
		return 0, err
	}
	b.samples = 0
	for _, message := range b.messages {
		if err := dictionary.Compact(message, b.in.kept...); err != nil {
			return 0, err
		}
		for profile := range walk.Profiles(message) {
			profile.OriginalPayload().FromRaw(nil)
			profile.SetOriginalPayloadFormat("")
		}
		b.samples += message.SampleCount()
	}
	return b.deliver(ctx)
}

// refusal counts the refused payloads and returns their error.
func (b *batch) refusal(ctx context.Context) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %d profiles refused", len(b.refused), len(b.refused)+len(b.stats))
	if len(b.stats) > 0 {
		text.WriteString(", the others are accepted")
		for _, err := range b.refused {
			b.metrics.payloadRefused(ctx, classOf(err))
		}
	}
	for i, err := range b.refused[:min(len(b.refused), maxNamedRefusals)] {
		text.WriteString([]string{": ", "; "}[min(i, 1)])
		text.WriteString(err.Error())
	}
	err := newRefusal(classOf(b.refused[0]), "%s", text.String())
	if len(b.stats) > 0 {
		return &partialError{err}
	}
	return err
}

// partialError reports that some payloads of a request were refused, and the others accepted.
type partialError struct{ error }

func (p *partialError) Unwrap() error { return p.error }

// combine joins messages, with one dictionary that has only entries that they use, and all entries of the kept tables. Consecutive messages
// with the same resource share it. Each payload keeps its scope and its samples.
func combine(messages []pprofile.Profiles, kept ...dictionary.Table) (pprofile.Profiles, error) {
	whole := dedup.Join(messages)
	joinResources(whole.ResourceProfiles())
	return whole, dictionary.Compact(whole, kept...)
}

// joinResources joins consecutive resources with equal attributes in the first of them.
func joinResources(resources pprofile.ResourceProfilesSlice) {
	var last pprofile.ResourceProfiles
	resources.RemoveIf(func(resource pprofile.ResourceProfiles) bool {
		if last == (pprofile.ResourceProfiles{}) ||
			!dictionary.EqualMaps(last.Resource().Attributes(), resource.Resource().Attributes()) {
			last = resource
			return false
		}
		resource.ScopeProfiles().MoveAndAppendTo(last.ScopeProfiles())
		return true
	})
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package delivery has the code that the exporters pprof and profile_view share.
//
// An [Exporter] keeps the memory of each message, also in the queue. [Deliver] encodes a message and passes each pprof to a function
// that writes it. Its error separates profiles to retry from dropped ones. [Telemetry] counts the results.
package delivery // import "github.com/otelpprof/otelpprof/exporter/internal/delivery"

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"

	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Deliver encodes a message and calls write with each payload, one after the other. write must not use the payload after it has
// returned. work counts its memory. If write returns a [Refusal], Deliver continues; after any other error it stops. The error is that of
// [Progress.End].
func Deliver(
	ctx context.Context, pd pprofile.Profiles, encoder *pprof.Encoder, t *Telemetry,
	write func(ctx context.Context, payload *pprof.Payload, work *meter.Meter) error,
) error {
	p := Begin(ctx, pd)
	defer p.Release()
	payloads, writing := encoder.AllReserving(pd, p.Part(ctx)), p.Part(ctx)
	err := p.Each(ctx, payloads, func(payload *pprof.Payload) error {
		err := write(ctx, payload, meter.New(0, writing))
		if err == nil {
			p.Done(PositionsOf(payload)...)
		}
		return err
	})
	return p.End(ctx, t, err)
}

// Each calls write with each payload of the message, one after the other. A payload that cannot be encoded, or for which
// write returns a [Refusal], is dropped, and Each continues with the next one. Any other error ends Each and is returned:
// the payloads that were not handled must be retried.
func (p *Progress) Each(ctx context.Context, payloads iter.Seq2[pprof.Payload, error], write func(*pprof.Payload) error) error {
	for payload, err := range payloads {
		fault, isFault := errors.AsType[*pprof.ProfileError](err)
		isFault = isFault && !errors.Is(err, pprof.ErrNotReserved)
		switch {
		case err != nil && !isFault:
			return err
		case ctx.Err() != nil: // Also between faults: a message can have very many, and nothing else.
			return fmt.Errorf("cannot write the rest of the request: %w", context.Cause(ctx))
		case isFault:
			p.Refuse(refusalOf(err), Position{fault.Resource, fault.Scope, fault.Profile})
			continue
		}
		err = write(&payload)
		if refusal, isRefusal := errors.AsType[*Refusal](err); isRefusal {
			p.Refuse(refusal, PositionsOf(&payload)...)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Position is the position of a profile in a request, as indices.
type Position struct{ resource, scope, profile int }

// PositionsOf returns the positions of the profiles of a payload.
func PositionsOf(payload *pprof.Payload) []Position {
	positions := make([]Position, len(payload.Positions))
	for i, p := range payload.Positions {
		positions[i] = Position{resource: payload.ResourceIndex, scope: payload.ScopeIndex, profile: p}
	}
	return positions
}

// ProfileID returns the id of a profile. If it has none, the id is derived from the content, so that it is the same at each retry of a request.
func ProfileID(payload *pprof.Payload) pprofile.ProfileID {
	if !payload.ProfileID.IsEmpty() {
		return payload.ProfileID
	}
	digest := sha256.Sum256(payload.Pprof)
	return pprofile.ProfileID(digest[:16])
}

// Progress is the work on one request: its memory, and which profiles need no retry, since they were delivered or refused.
type Progress struct {
	pd       pprofile.Profiles
	handled  map[Position]struct{}
	refusals []*Refusal
	// service is that of resource, once a profile of it was refused. The name can be the text of a long list.
	service  string
	resource int
	// working is the memory of the work, beside the message.
	working *memory.Reservation
}

// Begin begins the work on the request of ctx. The caller must call Release.
func Begin(ctx context.Context, pd pprofile.Profiles) *Progress {
	message := memory.FromContext(ctx)
	return &Progress{pd: pd, handled: map[Position]struct{}{}, working: message.Work(0)}
}

// Part returns a function that reserves the memory of one part of the work on the request, beside the message: for the tables of the
// encoder, for a compressed pprof, or for the body of a request. Its argument is the size of the whole part. Its error wraps
// [pprof.ErrTooLarge] if that much can never be free beside the message and the other parts. Any other error is retryable.
func (p *Progress) Part(ctx context.Context) func(bytes int64) error {
	part := int64(0)
	return func(bytes int64) error {
		err := p.working.Resize(ctx, p.working.Bytes()-part+bytes)
		if err == nil {
			part = bytes
		} else if errors.Is(err, memory.ErrTooLarge) {
			err = fmt.Errorf("%w: %w", pprof.ErrTooLarge, err)
		}
		return err
	}
}

// Release releases the memory of all parts. That of the message stays reserved.
func (p *Progress) Release() { p.working.Release() }

// Done records that profiles were delivered.
func (p *Progress) Done(positions ...Position) {
	for _, at := range positions {
		p.handled[at] = struct{}{}
	}
}

// Refuse records that profiles were refused.
func (p *Progress) Refuse(r *Refusal, positions ...Position) {
	r.services = map[string]int{}
	for _, at := range positions {
		r.services[p.serviceOf(at.resource)]++
	}
	p.refusals = append(p.refusals, r)
	p.Done(positions...)
}

// serviceOf is the function serviceOf. It reads the name once for the refused profiles of a resource, which follow one another.
func (p *Progress) serviceOf(resource int) string {
	if p.service == "" || p.resource != resource {
		p.service, p.resource = serviceOf(p.pd, resource), resource
	}
	return p.service
}

// End counts the refused profiles and returns the error of the message. failure is a retryable error, or nil: with it, the
// error contains the profiles that were not handled, to retry them. Without it, the error is permanent and has the refusals.
func (p *Progress) End(ctx context.Context, t *Telemetry, failure error) error {
	if failure != nil {
		rest, all := p.rest(ctx)
		if all {
			return failure // The refused profiles are retried as well, and counted then.
		}
		failure = xconsumererror.NewProfiles(failure, rest)
	} else if len(p.refusals) > 0 {
		failure = permanent(p.refusals)
	}
	t.refused(ctx, p.refusals...)
	return failure
}

// rest returns a copy with the profiles that were not handled. If none were handled, or there is no memory for a copy, it
// returns the message itself, and all is true. The memory of the copy counts until Release: then the copy replaces the message.
func (p *Progress) rest(ctx context.Context) (remaining pprofile.Profiles, all bool) {
	if len(p.handled) == 0 || p.Part(ctx)(dictionary.MessageMemory(p.pd)) != nil {
		return p.pd, true
	}
	remaining = pprofile.NewProfiles()
	p.pd.CopyTo(remaining)
	i := -1
	remaining.ResourceProfiles().RemoveIf(func(resource pprofile.ResourceProfiles) bool {
		i++
		j := -1
		resource.ScopeProfiles().RemoveIf(func(scope pprofile.ScopeProfiles) bool {
			j++
			k := -1
			scope.Profiles().RemoveIf(func(pprofile.Profile) bool {
				k++
				_, handled := p.handled[Position{resource: i, scope: j, profile: k}]
				return handled
			})
			return scope.Profiles().Len() == 0
		})
		return resource.ScopeProfiles().Len() == 0
	})
	return remaining, false
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package delivery has the code that the exporters pprof and profile_view share.
//
// An [Exporter] keeps the memory of each message, also in the queue. [Deliver] encodes a message and passes each pprof to a function
// that writes it. Its error separates profiles to retry from dropped ones. [Telemetry] counts the results.
package delivery // import "github.com/otelpprof/otelpprof/exporter/internal/delivery"

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"go.opentelemetry.io/collector/pdata/pprofile"

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

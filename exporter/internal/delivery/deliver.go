// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Deliver hands the payloads of a message to write, one after the other, which is done with a payload when it returns. Its
// error is that of [Progress.End].
func Deliver(
	ctx context.Context, pd pprofile.Profiles, payloads iter.Seq2[pprof.Payload, error], t *Telemetry,
	write func(*pprof.Payload) error,
) error {
	p := NewProgress(pd)
	err := p.Each(ctx, payloads, func(payload *pprof.Payload) error {
		err := write(payload)
		if err == nil {
			p.Done(PositionsOf(payload)...)
		}
		return err
	})
	return p.End(ctx, t, err)
}

// Each hands the payloads of the message to write, one after the other. A payload that cannot be encoded, or that write
// returns a refusal for, is lost, and the others go on. Any other error ends it, and is one after which what is not handled
// by then is to be repeated.
func (p *Progress) Each(ctx context.Context, payloads iter.Seq2[pprof.Payload, error], write func(*pprof.Payload) error) error {
	for payload, err := range payloads {
		fault, isFault := errors.AsType[*pprof.ProfileError](err)
		switch {
		case isFault && !errors.Is(err, pprof.ErrNotReserved):
			p.Refuse(refusalOf(err), PositionOf(fault))
			continue
		case err != nil:
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("cannot go on with the request: %w", context.Cause(ctx))
		}
		err = write(&payload)
		if lost, isLost := errors.AsType[*Refusal](err); isLost {
			p.Refuse(lost, PositionsOf(&payload)...)
		} else if err != nil {
			return err
		}
	}
	return nil
}

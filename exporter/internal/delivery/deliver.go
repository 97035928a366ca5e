// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Deliver hands the payloads of pd to write, one after the other. An error of a payload, or a refusal that write
// returns, costs only that payload. With any other error of write Deliver stops: its error is then one to repeat, and
// carries what is to be repeated, the profiles from the payload's resource on. Those of that resource that are done
// already come again; write must know them.
//
// The refusals are those that no repetition brings again. If nothing is to be repeated and there are refusals, the error
// is permanent and consists of them.
func Deliver(
	ctx context.Context,
	pd pprofile.Profiles,
	payloads iter.Seq2[pprof.Payload, error],
	write func(pprof.Payload) error,
) ([]*Refusal, error) {
	var refusals []*Refusal
	resource := 0
	for payload, err := range payloads {
		resource = indexOf(pd, payload.Resource, resource)
		if fault, found := errors.AsType[*pprof.ProfileError](err); found {
			resource = fault.Resource
		}
		switch {
		case errors.Is(err, pprof.ErrNotReserved):
		case err != nil:
			err = RefusalOf(err)
		case ctx.Err() != nil:
			err = fmt.Errorf("cannot go on with the request: %w", context.Cause(ctx))
		default:
			err = write(payload)
		}
		if err == nil {
			continue
		}
		lost, isLost := errors.AsType[*Refusal](err)
		if !isLost {
			return before(refusals, resource), rest(ctx, err, pd, resource)
		}
		lost.resource = resource
		lost.services = map[string]int{serviceOf(pd, resource): lost.Profiles}
		refusals = append(refusals, lost)
	}
	if len(refusals) > 0 {
		return refusals, consumererror.NewPermanent(joined(refusals))
	}
	return nil, nil
}

// indexOf returns the index of a resource in pd. Payloads come in the order of their resources, so it looks only from a
// given one on, and returns that one where there is no payload.
func indexOf(pd pprofile.Profiles, resource pcommon.Resource, from int) int {
	for i := from; i < pd.ResourceProfiles().Len(); i++ {
		if pd.ResourceProfiles().At(i).Resource() == resource {
			return i
		}
	}
	return from
}

// before returns the refusals that belong to resources before this one.
func before(refusals []*Refusal, resource int) []*Refusal {
	for len(refusals) > 0 && refusals[len(refusals)-1].resource >= resource {
		refusals = refusals[:len(refusals)-1]
	}
	return refusals
}

// rest makes an error that has pd's profiles from this resource on repeated. Nothing is copied where these are all, and
// where there is no memory for a copy: all are repeated then. The copy takes the place of pd, so that its memory is only
// reserved until it is made.
func rest(ctx context.Context, err error, pd pprofile.Profiles, resource int) error {
	if resource == 0 || reserveCopy(ctx, pd) != nil {
		return err
	}
	remaining := pprofile.NewProfiles()
	pd.Dictionary().CopyTo(remaining.Dictionary())
	for i := resource; i < pd.ResourceProfiles().Len(); i++ {
		pd.ResourceProfiles().At(i).CopyTo(remaining.ResourceProfiles().AppendEmpty())
	}
	return xconsumererror.NewProfiles(err, remaining)
}

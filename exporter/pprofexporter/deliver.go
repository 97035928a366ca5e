// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// maxErrors bounds how many errors of one request are spelled out.
const maxErrors = 10

// refusal is the error of profiles that are lost: the same would happen again.
type refusal struct {
	reason   string
	profiles int
	err      error
	// resource is the index of the profiles' resource in the request.
	resource int
	// services tells how many of the profiles each service has.
	services map[string]int
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// deliver hands the payloads of pd to write, one after the other. An error of a payload, or a refusal that write
// returns, costs only that payload. With any other error of write deliver stops: its error is then one to repeat, and
// carries what is to be repeated, the profiles from the payload's resource on. Those of that resource that are done
// already come again; write must know them.
//
// The refusals are those that no repetition brings again. If nothing is to be repeated and there are refusals, the error
// is permanent and consists of them.
func deliver(
	ctx context.Context,
	pd pprofile.Profiles,
	payloads iter.Seq2[pprof.Payload, error],
	write func(pprof.Payload) error,
) ([]*refusal, error) {
	var refusals []*refusal
	resource := 0
	for payload, err := range payloads {
		resource = indexOf(pd, payload.Resource, resource)
		if fault, found := errors.AsType[*pprof.ProfileError](err); found {
			resource = fault.Resource
		}
		switch {
		case errors.Is(err, pprof.ErrNotReserved):
		case err != nil:
			err = refusalOf(err)
		case ctx.Err() != nil:
			err = fmt.Errorf("cannot go on with the request: %w", context.Cause(ctx))
		default:
			err = write(payload)
		}
		if err == nil {
			continue
		}
		lost, isLost := errors.AsType[*refusal](err)
		if !isLost {
			return before(refusals, resource), rest(ctx, err, pd, resource)
		}
		lost.resource = resource
		lost.services = map[string]int{serviceOf(pd, resource): lost.profiles}
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

// serviceOf is the service of a resource of a request.
func serviceOf(pd pprofile.Profiles, resource int) string {
	return attributevalue.Service(pd.ResourceProfiles().At(resource).Resource().Attributes())
}

// before returns the refusals that belong to resources before this one.
func before(refusals []*refusal, resource int) []*refusal {
	for len(refusals) > 0 && refusals[len(refusals)-1].resource >= resource {
		refusals = refusals[:len(refusals)-1]
	}
	return refusals
}

// refusalOf is the refusal of a profile that the encoder has an error for.
func refusalOf(err error) *refusal {
	reason := refusedInvalid
	if errors.Is(err, pprof.ErrTooLarge) {
		reason = refusedTooLarge
	}
	return &refusal{reason: reason, profiles: 1, err: err}
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

// joined makes one error of refusals.
func joined(refusals []*refusal) error {
	errs := make([]error, 0, maxErrors+1)
	for i, r := range refusals {
		if i == maxErrors {
			errs = append(errs, fmt.Errorf("and %d more", len(refusals)-maxErrors))
			break
		}
		errs = append(errs, r)
	}
	return errors.Join(errs...)
}

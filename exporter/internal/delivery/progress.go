// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Position is where a profile is in a request.
type Position struct{ resource, scope, profile int }

// PositionOf is where the profile of an error is.
func PositionOf(fault *pprof.ProfileError) Position {
	return Position{resource: fault.Resource, scope: fault.Scope, profile: fault.Profile}
}

// PositionsOf is where the profiles of a payload are.
func PositionsOf(payload *pprof.Payload) []Position {
	positions := make([]Position, len(payload.Positions))
	for i, p := range payload.Positions {
		positions[i] = Position{resource: payload.ResourceIndex, scope: payload.ScopeIndex, profile: p}
	}
	return positions
}

// Progress knows which profiles of a request need no repetition: those that arrived and those that are lost.
type Progress struct {
	pd       pprofile.Profiles
	handled  map[Position]struct{}
	refusals []*Refusal
}

// NewProgress begins with nothing done.
func NewProgress(pd pprofile.Profiles) *Progress {
	return &Progress{pd: pd, handled: map[Position]struct{}{}}
}

// Done says that profiles arrived.
func (p *Progress) Done(positions ...Position) {
	for _, at := range positions {
		p.handled[at] = struct{}{}
	}
}

// Refuse says that profiles are lost.
func (p *Progress) Refuse(r *Refusal, positions ...Position) {
	r.services = map[string]int{}
	for _, at := range positions {
		r.services[serviceOf(p.pd, at.resource)]++
	}
	p.refusals = append(p.refusals, r)
	p.Done(positions...)
}

// End counts what is lost, and returns the error of the message. With a failure it has those profiles repeated that are not
// handled. Without one it is permanent, and consists of what is lost.
func (p *Progress) End(ctx context.Context, t *Telemetry, failure error) error {
	if failure != nil {
		rest, all := p.rest(ctx)
		if all {
			return failure // also what is lost comes again
		}
		failure = xconsumererror.NewProfiles(failure, rest)
	} else if len(p.refusals) > 0 {
		failure = consumererror.NewPermanent(joined(p.refusals))
	}
	t.Refused(ctx, p.refusals...)
	return failure
}

// rest copies the profiles that are not handled. Where none are, and where there is no memory for a copy, these are all. The
// copy takes the place of the message, so that its memory is only reserved until it is made.
func (p *Progress) rest(ctx context.Context) (remaining pprofile.Profiles, all bool) {
	if len(p.handled) == 0 || reserveCopy(ctx, p.pd) != nil {
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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// position is where a profile is in a request.
type position struct{ resource, scope, profile int }

func positionOf(fault *pprof.ProfileError) position {
	return position{resource: fault.Resource, scope: fault.Scope, profile: fault.Profile}
}

func positionsOf(payload *pprof.Payload) []position {
	positions := make([]position, len(payload.Positions))
	for i, p := range payload.Positions {
		positions[i] = position{resource: payload.ResourceIndex, scope: payload.ScopeIndex, profile: p}
	}
	return positions
}

// parcels knows which profiles of a request need no repetition: those that arrived and those that are lost.
type parcels struct {
	pd       pprofile.Profiles
	handled  map[position]struct{}
	refusals []*refusal
}

func newParcels(pd pprofile.Profiles) *parcels {
	return &parcels{pd: pd, handled: map[position]struct{}{}}
}

func (p *parcels) done(positions ...position) {
	for _, at := range positions {
		p.handled[at] = struct{}{}
	}
}

func (p *parcels) refuse(r *refusal, positions ...position) {
	r.services = map[string]int{}
	for _, at := range positions {
		r.services[serviceOf(p.pd, at.resource)]++
	}
	p.refusals = append(p.refusals, r)
	p.done(positions...)
}

// rest makes an error that has the profiles repeated that are not handled, and no others. Where there is no memory for a
// copy of them, all are repeated.
func (p *parcels) rest(ctx context.Context, err error) error {
	if len(p.handled) == 0 || reserveCopy(ctx, p.pd) != nil {
		return err
	}
	remaining := pprofile.NewProfiles()
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
				_, handled := p.handled[position{resource: i, scope: j, profile: k}]
				return handled
			})
			return scope.Profiles().Len() == 0
		})
		return resource.ScopeProfiles().Len() == 0
	})
	return xconsumererror.NewProfiles(err, remaining)
}

// outgoing is what the next request consists of.
type outgoing struct {
	tenant string
	// reserve and reserveGzip ask for the memory of bodies and of compressed pprofs.
	reserve, reserveGzip func(bytes int64) error

	body      []byte
	positions []position
	// payloads counts the pprofs.
	payloads int
	// headers are of the first payload.
	headers map[string]string

	profiles, samples, labelsDropped int
	lost                             pprof.Losses
}

func (o *outgoing) note(payload *pprof.Payload, dropped int) {
	o.payloads++
	o.positions = append(o.positions, positionsOf(payload)...)
	o.profiles += payload.Profiles
	o.samples += payload.Samples
	o.labelsDropped += dropped
	o.lost.Attributes += payload.Lost.Attributes
	o.lost.Timestamps += payload.Lost.Timestamps
}

func (o *outgoing) reset() {
	*o = outgoing{tenant: o.tenant, reserve: o.reserve, reserveGzip: o.reserveGzip}
}

// room makes room for so many bytes more in the body.
func (o *outgoing) room(bytes int, payload *pprof.Payload) error {
	if cap(o.body)-len(o.body) >= bytes {
		return nil
	}
	size := max(2*cap(o.body), len(o.body)+bytes)
	if err := o.reserve(int64(cap(o.body) + size)); err != nil {
		return wanting(err, payload)
	}
	grown := make([]byte, len(o.body), size)
	copy(grown, o.body)
	o.body = grown
	return nil
}

// wanting is the error of a payload that memory is wanting for: a refusal if there can never be enough.
func wanting(err error, payload *pprof.Payload) error {
	if errors.Is(err, pprof.ErrTooLarge) {
		return &refusal{reason: refusedTooLarge, profiles: payload.Profiles, err: err}
	}
	return err
}

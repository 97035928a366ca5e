// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"cmp"
	"errors"
	"fmt"
	"iter"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// Payload is one pprof that was made of one group of profiles.
type Payload struct {
	// Pprof is profile.proto, not compressed. Valid until the iteration goes on.
	Pprof []byte
	// Resource and Scope are those of the profiles; do not change them.
	Resource pcommon.Resource
	Scope    pcommon.InstrumentationScope
	// ProfileType is the profile's name (attribute profile.name) where a client gave one, else the default sample type.
	ProfileType string
	// ProfileID is that of the group's first profile.
	ProfileID pprofile.ProfileID
	Time      pcommon.Timestamp
	// DurationNano is the length of the profile in nanoseconds.
	DurationNano uint64
	// ResourceIndex, ScopeIndex and Positions are where the profiles are in the message: Positions holds the index of each
	// in its scope.
	ResourceIndex, ScopeIndex int
	Positions                 []int
	// Profiles counts the OTLP profiles of the group, Samples the pprof samples written, OTLPSamples those read.
	Profiles    int
	Samples     int
	OTLPSamples int
	// Lost counts what pprof cannot represent.
	Lost Losses
}

// Losses count the parts of profiles that pprof cannot represent.
type Losses struct {
	// Attributes of locations and mappings, such as profile.frame.type.
	Attributes int
	// Timestamps of samples, when they are not written as labels.
	Timestamps int
}

// ProfileError tells which profile of a message could not be written, and why. It is permanent: the same input fails
// again.
type ProfileError struct {
	// Resource, Scope and Profile are the positions of the profile in the message.
	Resource, Scope, Profile int
	ProfileID                pprofile.ProfileID
	Err                      error
}

func (e *ProfileError) Error() string {
	return fmt.Sprintf("cannot write profile %d of scope %d of resource %d as pprof: %s", e.Profile, e.Scope, e.Resource, e.Err)
}

func (e *ProfileError) Unwrap() error { return e.Err }

// Encoder translates OTLP profiles to pprof. Safe for concurrent use.
type Encoder struct {
	opts   EncodeOptions
	memory scratch.Keeper[encoding]
}

// NewEncoder returns an Encoder with these options.
func NewEncoder(opts EncodeOptions) *Encoder {
	if opts.LinkLabels == (LinkLabels{}) {
		opts.LinkLabels = defaultLinkNames
	}
	if opts.PprofBytes <= 0 {
		opts.PprofBytes = DefaultPprofBytes
	}
	return &Encoder{opts: opts}
}

// All yields one payload per group of profiles: profiles of one scope with equal time, duration, period and attributes,
// and different sample types. A profile that cannot be written yields a *[ProfileError] and costs only itself; the
// iteration goes on. pd is only read.
func (e *Encoder) All(pd pprofile.Profiles) iter.Seq2[Payload, error] { return e.AllReserving(pd, nil) }

// AllReserving is [Encoder.All] that asks reserve before it takes memory, with all bytes that the message then takes: the
// working memory and the pprof. The number never falls. Where the error of reserve is [ErrTooLarge], the profiles that
// need the memory are refused. Any other error ends the iteration with a *[ProfileError] of the first profile that was not
// written. It is [ErrNotReserved], and that of reserve.
func (e *Encoder) AllReserving(pd pprofile.Profiles, reserve func(bytes int64) error) iter.Seq2[Payload, error] {
	return func(yield func(Payload, error) bool) {
		t := e.memory.Get()
		if t == nil {
			t = newEncoding()
		}
		if err := t.begin(&e.opts, pd, reserve); err != nil {
			refuseAll(pd, err, yield)
		} else {
			t.encode(pd, yield)
		}
		e.memory.Put(t, t.release())
	}
}

// refuseAll yields an error for each profile, or one where nothing more is to be tried.
func refuseAll(pd pprofile.Profiles, err error, yield func(Payload, error) bool) {
	for i, resource := range pd.ResourceProfiles().All() {
		for j, scope := range resource.ScopeProfiles().All() {
			for k, profile := range scope.Profiles().All() {
				fault := &ProfileError{Resource: i, Scope: j, Profile: k, ProfileID: profile.ProfileID(), Err: err}
				if !yield(Payload{}, fault) || errors.Is(err, ErrNotReserved) {
					return
				}
			}
		}
	}
}

// encode yields the groups of each scope, until yield wants no more.
func (t *encoding) encode(pd pprofile.Profiles, yield func(Payload, error) bool) {
	for i, resource := range pd.ResourceProfiles().All() {
		resourceErr := attributevalue.Check(resource.Resource().Attributes())
		for j, scope := range resource.ScopeProfiles().All() {
			err := cmp.Or(resourceErr, attributevalue.Check(scope.Scope().Attributes()))
			t.groupProfiles(scope.Scope(), scope.Profiles(), err)
			if !t.encodeScope(resource.Resource(), scope.Scope(), func(payload Payload, fault *ProfileError) bool {
				if fault == nil {
					payload.ResourceIndex, payload.ScopeIndex = i, j
					return yield(payload, nil)
				}
				fault.Resource, fault.Scope = i, j
				return yield(Payload{}, fault)
			}) {
				return
			}
		}
	}
}

// encodeScope yields the groups of one scope that was sorted, and the faults of its profiles.
func (t *encoding) encodeScope(
	resource pcommon.Resource, scope pcommon.InstrumentationScope, yield func(Payload, *ProfileError) bool,
) bool {
	for _, fault := range t.faults {
		if !yield(Payload{}, &fault) {
			return false
		}
	}
	for i := range t.groups {
		g := &t.groups[i]
		first := g.profiles[:1]
		payload, faults := t.encodeGroup(g, resource, scope)
		if t.memory.err != nil {
			g.profiles = first
			yield(Payload{}, &g.faults(t.memory.err)[0])
			return false
		}
		for _, fault := range faults {
			if !yield(Payload{}, &fault) {
				return false
			}
		}
		if len(g.profiles) > 0 && !yield(payload, nil) {
			return false
		}
	}
	return true
}

// encodeGroup joins and writes a group. The profiles that cannot be written are taken out of it.
func (t *encoding) encodeGroup(
	g *group, resource pcommon.Resource, scope pcommon.InstrumentationScope,
) (payload Payload, faults []ProfileError) {
	faults = t.joinGroup(g, scope)
	if len(g.profiles) == 0 {
		return Payload{}, faults
	}
	payload, err := t.writeGroup(g, resource, scope)
	if err != nil {
		t.wasted += t.work()
		faults = append(faults, g.faults(err)...)
		g.profiles = nil
	}
	return payload, faults
}

// faults are those of all profiles of a group that cannot be written.
func (g *group) faults(err error) []ProfileError {
	faults := make([]ProfileError, 0, len(g.profiles))
	for _, p := range g.profiles {
		faults = append(faults, ProfileError{Profile: p.position, ProfileID: p.source.ProfileID(), Err: err})
	}
	return faults
}

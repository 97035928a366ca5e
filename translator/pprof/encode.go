// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary/spanlink"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/deflate"
)

// SampleType says what the values of samples are, such as cpu in nanoseconds.
type SampleType struct{ Name, Unit string }

// Payload is one pprof, encoded from one group of profiles.
type Payload struct {
	// Pprof is an uncompressed profile.proto. It is valid in the body of the loop only: the Encoder uses its memory again, also after a break.
	Pprof []byte
	// Resource and Scope are those of the profiles. They must not be modified.
	Resource pcommon.Resource
	Scope    pcommon.InstrumentationScope
	// ProfileType is the attribute profile.name, or the default sample type if there is no such attribute.
	ProfileType string
	// SampleTypes are those of the pprof, in its order.
	SampleTypes []SampleType
	// ProfileID is the id of the first profile of the group.
	ProfileID pprofile.ProfileID
	Time      pcommon.Timestamp
	// DurationNano is in nanoseconds.
	DurationNano uint64
	// ResourceIndex, ScopeIndex and Positions locate the profiles in the message. Positions has their indices in the
	// scope.
	ResourceIndex, ScopeIndex int
	Positions                 []int
	// Profiles counts the OTLP profiles of the group. Samples counts the samples of the pprof, OTLPSamples those of the
	// profiles.
	Profiles    int
	Samples     int
	OTLPSamples int
	// Lost counts what pprof cannot represent.
	Lost Losses
}

// Losses counts parts of profiles that pprof cannot represent.
type Losses struct {
	// Attributes counts attributes of locations and mappings, such as profile.frame.type, and attributes of samples and profiles
	// whose unit is lost, since their value is a text in pprof. The text of bytes, a list or a map is cut after 64 KiB, and does not count.
	Attributes int
	// Timestamps counts timestamps of samples that are not written as labels.
	Timestamps int
}

// ProfileError reports a profile that cannot be encoded. It is permanent, unless it wraps [ErrNotReserved].
type ProfileError struct {
	// Resource, Scope and Profile are the indices of the profile in the message.
	Resource, Scope, Profile int
	ProfileID                pprofile.ProfileID
	Err                      error
}

func (e *ProfileError) Error() string {
	return fmt.Sprintf("cannot write profile %d of scope %d of resource %d as pprof: %s", e.Profile, e.Scope, e.Resource, e.Err)
}

func (e *ProfileError) Unwrap() error { return e.Err }

// Encoder translates OTLP profiles to pprof. It is safe for concurrent use.
type Encoder struct {
	opts EncodeOptions
	// memory keeps working memory by the size of the message, in powers of two from 64 KiB: a small one must not need that of a large one.
	memory [11]scratch.Keeper[encoding]
}

// NewEncoder returns an Encoder with these options.
func NewEncoder(opts EncodeOptions) *Encoder {
	if opts.LinkLabels == (LinkLabels{}) {
		opts.LinkLabels = spanlink.CanonicalLabels()
	}
	if opts.PprofBytes <= 0 {
		opts.PprofBytes = DefaultPprofBytes
	}
	return &Encoder{opts: opts}
}

// All yields one payload for each group of profiles: profiles of one scope with equal time, duration, period and
// attributes, and with different sample types. For a profile that cannot be encoded it yields a *[ProfileError] and
// continues with the others. It does not modify pd.
func (e *Encoder) All(pd pprofile.Profiles) iter.Seq2[Payload, error] { return e.AllReserving(pd, nil) }

// AllReserving is like [Encoder.All], but calls reserve before it allocates memory, with the total number of bytes for
// the message: working memory and pprof. The total never decreases. If reserve returns [ErrTooLarge], the profiles that
// need the memory are refused, and the iteration continues. Any other error ends the iteration with a *[ProfileError] for
// the first profile that was not encoded; it wraps [ErrNotReserved] and the error of reserve.
func (e *Encoder) AllReserving(pd pprofile.Profiles, reserve func(bytes int64) error) iter.Seq2[Payload, error] {
	return func(yield func(Payload, error) bool) {
		expected := max(tablesMemory(pd)+rowMemory*pd.SampleCount(), 32<<10)
		kept := &e.memory[min(bits.Len(uint(expected>>16)), len(e.memory)-1)]
		t := kept.Get()
		if t != nil && t.kept() > 2*expected {
			kept.Put(t, math.MaxInt) // It is not used again.
			t = nil
		}
		if t == nil {
			t = newEncoding()
		}
		t.memory = encodeMemory{*meter.New(0, reserve)}
		t.encode(&e.opts, pd, yield)
		kept.Put(t, t.release())
	}
}

// AppendGzip appends pprof in gzip to dst. level is 1 (fastest) to 9 (smallest); 0 means the default, 6. It is safe for
// concurrent use, and pools its writers.
func AppendGzip(dst, pprof []byte, level int) ([]byte, error) {
	return deflate.Append(dst, pprof, level, nil)
}

// encode yields the groups of each resource until yield returns false.
func (t *encoding) encode(opts *EncodeOptions, pd pprofile.Profiles, yield func(Payload, error) bool) {
	beginErr := t.begin(opts, pd)
	for i, resource := range pd.ResourceProfiles().All() {
		err := beginErr
		if err == nil {
			err = t.checkTotal(i, resource)
		}
		proceed := false
		if err != nil {
			proceed = refuseResource(i, resource, err, yield)
		} else {
			proceed = t.encodeResource(i, resource, yield)
			t.wasted, t.unused = max(t.wasted, t.tried.wasted), max(t.unused, t.tried.unused)
		}
		if !proceed {
			return
		}
	}
}

// refuseResource yields err for each profile of a resource, or only once if it is ErrNotReserved. It returns false if the
// iteration ends.
func refuseResource(i int, resource pprofile.ResourceProfiles, err error, yield func(Payload, error) bool) bool {
	for j, scope := range resource.ScopeProfiles().All() {
		for k, profile := range scope.Profiles().All() {
			fault := &ProfileError{Resource: i, Scope: j, Profile: k, ProfileID: profile.ProfileID(), Err: err}
			if !yield(Payload{}, fault) || errors.Is(err, ErrNotReserved) {
				return false
			}
		}
	}
	return true
}

// encodeResource yields the groups of each scope of a resource. It returns false if the iteration ends.
func (t *encoding) encodeResource(i int, resource pprofile.ResourceProfiles, yield func(Payload, error) bool) bool {
	resourceErr := attributevalue.Check(resource.Resource().Attributes())
	for j, scope := range resource.ScopeProfiles().All() {
		t.resourceIndex, t.scopeIndex = i, j
		err := cmp.Or(resourceErr, attributevalue.Check(scope.Scope().Attributes()))
		faults := t.groupProfiles(scope, err)
		if !yieldFaults(faults, yield) || !t.encodeGroups(resource.Resource(), scope.Scope(), yield) {
			return false
		}
	}
	return true
}

// encodeGroups yields the groups of one scope and the errors of their profiles. It returns false if the iteration ends.
func (t *encoding) encodeGroups(
	resource pcommon.Resource, scope pcommon.InstrumentationScope, yield func(Payload, error) bool,
) bool {
	for i := range t.groups {
		g := &t.groups[i]
		first := g.profiles[0]
		var payload Payload
		faults := t.joinGroup(g)
		if len(g.profiles) > 0 {
			var err error
			if payload, err = t.writeGroup(g, resource, scope); err != nil {
				t.waste(t.work())
				faults = append(faults, t.refuseGroup(g, err)...)
			}
		}
		if err := t.memory.Err(); err != nil {
			yield(Payload{}, t.fault(&first, err))
			return false
		}
		if !yieldFaults(faults, yield) || len(g.profiles) > 0 && !yield(payload, nil) {
			return false
		}
	}
	return true
}

func yieldFaults(faults []error, yield func(Payload, error) bool) bool {
	for _, fault := range faults {
		if !yield(Payload{}, fault) {
			return false
		}
	}
	return true
}

// fault returns the error of a profile of the current scope.
func (t *encoding) fault(p *groupedProfile, err error) error {
	return &ProfileError{
		Resource: t.resourceIndex, Scope: t.scopeIndex, Profile: p.position, ProfileID: p.source.ProfileID(), Err: err,
	}
}

// refuseGroup removes all profiles from a group, and returns err as the error of each.
func (t *encoding) refuseGroup(g *group, err error) (faults []error) {
	for i := range g.profiles {
		faults = append(faults, t.fault(&g.profiles[i], err))
	}
	g.profiles = nil
	return faults
}

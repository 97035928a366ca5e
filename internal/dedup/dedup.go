// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"cmp"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// Shape tells what samples look like afterwards.
type Shape int

const (
	// ShapeCombined has one sample per identity, with all its values and timestamps.
	ShapeCombined Shape = iota
	// ShapePerEvent has one sample per timestamp.
	ShapePerEvent
	// ShapeTotal has one sample per identity, with one value and no timestamps.
	ShapeTotal
)

// OnInvalid says what to do with a profile that breaks the format.
type OnInvalid int

const (
	// DropProfile drops the profile and keeps all others.
	DropProfile OnInvalid = iota
	// Reject refuses the message, see InvalidError.
	Reject
	// Pass leaves a message with such a profile as it is.
	Pass
)

// Options configure a [Deduplicator]. The zero value is the default.
type Options struct {
	Shape Shape
	// DropZeroSamples drops samples whose values are all zero and that have no timestamps.
	DropZeroSamples bool
	// DropAttributes are keys of sample attributes to drop.
	DropAttributes []string
	OnInvalid      OnInvalid
	// DropPartialLinks makes attributes of links that name no span, or no trace.
	DropPartialLinks bool
	// DropEmptyProfiles drops profiles without samples.
	DropEmptyProfiles bool
	// ClearNegativeLines makes lines, columns and start lines below 0 unset.
	ClearNegativeLines bool
	// NameFunctions gives functions that have neither a name, a system name nor a file name the name AnonymousFunction.
	NameFunctions bool
	// WidenTimes moves the start and the end of a profile so that all timestamps are within, by one hour at most.
	WidenTimes bool
}

// TableSizes are the lengths of the tables of a dictionary.
type TableSizes = dictionary.Sizes

// Stats tell what a call of Deduplicate found and did.
type Stats struct {
	// Changed tells whether anything was written, TablesChanged whether the dictionary may have been.
	Changed, TablesChanged  bool
	ProfilesIn, ProfilesOut int
	SamplesIn, SamplesOut   int
	EntriesIn, EntriesOut   TableSizes
	// Invalid counts profiles that break the format, by reason.
	Invalid [numReasons]int
	// Dropped tells of the invalid profiles that were dropped.
	Dropped map[DropKey]Drop
	// MixedShapes counts samples that stayed apart from one of equal identity because their shapes differ.
	MixedShapes int
	// ZeroSamples counts the samples dropped for having only zeros, DroppedAttributes the attributes of samples.
	ZeroSamples       int
	DroppedAttributes int
	// MendedTexts counts text that was not UTF-8.
	MendedTexts int
	// PartialLinks counts samples whose link became an attribute, EmptyProfiles the profiles dropped for having no samples.
	PartialLinks, EmptyProfiles int
	// ClearedLines counts lines, columns and start lines that were below 0, NamedFunctions the functions that got a name.
	ClearedLines, NamedFunctions int
	// WidenedProfiles counts profiles whose start or end was moved, so that all timestamps are within.
	WidenedProfiles int
}

// DropKey is why profiles were dropped, and of which service they are.
type DropKey struct {
	Reason  Reason
	Service string
}

// Drop is how many profiles were dropped, and why the first one was.
type Drop struct {
	Profiles int
	Err      error
}

// drop notes an invalid profile that is dropped.
func (s *Stats) drop(reason Reason, service string, err error) {
	if s.Dropped == nil {
		s.Dropped = map[DropKey]Drop{}
	}
	known := s.Dropped[DropKey{reason, service}]
	s.Dropped[DropKey{reason, service}] = Drop{known.Profiles + 1, cmp.Or(known.Err, err)}
}

// undo resets the statistics to no change.
func (s *Stats) undo() {
	*s = Stats{
		ProfilesIn: s.ProfilesIn, ProfilesOut: s.ProfilesIn, SamplesIn: s.SamplesIn, SamplesOut: s.SamplesIn,
		EntriesIn: s.EntriesIn, EntriesOut: s.EntriesIn, Invalid: s.Invalid,
	}
}

// Deduplicator makes messages canonical. Safe for concurrent use.
type Deduplicator struct {
	opts     Options
	dropKeys map[string]bool
	kept     scratch.Keeper[work]
}

// New returns a Deduplicator with these options.
func New(opts Options) *Deduplicator {
	d := &Deduplicator{opts: opts}
	if len(opts.DropAttributes) > 0 {
		d.dropKeys = map[string]bool{}
	}
	for _, key := range opts.DropAttributes {
		d.dropKeys[key] = true
	}
	return d
}

// Deduplicate makes pd canonical in place and returns it. A message that is canonical is not written to; one that is
// not, but read-only, is copied first.
//
// An error is an *[InvalidError], with Reject only; pd is then as it was.
func (d *Deduplicator) Deduplicate(pd pprofile.Profiles) (pprofile.Profiles, Stats, error) {
	w := d.kept.Get()
	if w == nil {
		w = &work{}
	}
	defer func() {
		w.release()
		d.kept.Put(w, int(w.bytes()))
	}()
	w.begin(&d.opts, d.dropKeys, pd)
	err := w.run()
	return w.pd, w.stats, err
}

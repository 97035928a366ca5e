// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package dedup makes profiles messages small, canonical and conformant. Each dictionary entry occurs once and is used,
// zero entries exist, equal resources and scopes are joined, and samples of equal identity are combined.
//
// Two samples have equal identity if their stacks, sets of attributes, and links are equal by value. They are combined
// only if they have the same shape: values, timestamps, or both. [Join] and [Deduplicator.Deduplicate] combine messages.
// [Split] splits a large message, and limits how much the parts repeat.
//
// The work is in place, and does not change what is canonical. The time is linear in the size of the message.
package dedup // import "github.com/otelpprof/otelpprof/internal/dedup"

import (
	"cmp"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// Shape is the form of the samples in the result.
type Shape string

const (
	// ShapeCombined has one sample per identity, with all its values and timestamps.
	ShapeCombined Shape = "combined"
	// ShapePerEvent has one sample per timestamp.
	ShapePerEvent Shape = "per_event"
	// ShapeTotal has one sample per identity, with one value and no timestamps.
	ShapeTotal Shape = "total"
)

// OnInvalid says what to do with an invalid profile.
type OnInvalid string

const (
	// DropProfile drops the profile and keeps the others.
	DropProfile OnInvalid = "drop_profile"
	// Reject refuses the message.
	Reject OnInvalid = "reject"
	// Pass returns a message with such a profile unchanged.
	Pass OnInvalid = "pass"
)

// Options configure a [Deduplicator]. The zero value is the default.
type Options struct {
	Shape Shape
	// DropZeroSamples drops samples without timestamps whose values are all zero.
	DropZeroSamples bool
	// DropAttributes are keys of sample attributes to drop.
	DropAttributes []string
	OnInvalid      OnInvalid
	// DropPartialLinks replaces links without a span or without a trace by attributes.
	DropPartialLinks bool
	// DropEmptyProfiles drops profiles without samples.
	DropEmptyProfiles bool
	// ClearNegativeLines replaces lines, columns and start lines below 0 by 0, which means unset.
	ClearNegativeLines bool
	// NameFunctions gives the name anonymousFunction to functions without a name, a system name and a file name.
	NameFunctions bool
	// WidenTimes moves the start and the end of a profile so that it includes all timestamps, by ten minutes at most.
	WidenTimes bool
}

// Stats has the results of a call of Deduplicate.
type Stats struct {
	// Changed is true if the message was changed.
	Changed bool
	// Invalid counts invalid profiles by reason.
	Invalid [numReasons]int
	// Dropped has the invalid profiles that were dropped.
	Dropped map[dropGroup]dropped
	// MixedShapes counts samples that were not combined with one of equal identity, since their shapes differ.
	MixedShapes int
	// ZeroSamples counts the samples that were dropped because all their values were zero, DroppedAttributes the dropped
	// attributes of samples.
	ZeroSamples       int
	DroppedAttributes int
	// MendedTexts counts texts that were not UTF-8.
	MendedTexts int
	// PartialLinks counts samples whose link became an attribute, EmptyProfiles the dropped profiles without samples.
	PartialLinks, EmptyProfiles int
	// ClearedLines counts lines, columns and start lines that were below 0, NamedFunctions the functions that got a name.
	ClearedLines, NamedFunctions int
	// WidenedProfiles counts profiles whose start or end was moved to include all timestamps.
	WidenedProfiles int
}

// dropGroup is the reason why profiles were dropped, and their service.
type dropGroup struct {
	Reason  Reason
	Service string
}

// dropped is the number of dropped profiles, and the error of the first one.
type dropped struct {
	Profiles int
	Err      error
}

// drop counts an invalid profile that is dropped.
func (s *Stats) drop(reason Reason, service string, err error) {
	if s.Dropped == nil {
		s.Dropped = map[dropGroup]dropped{}
	}
	known := s.Dropped[dropGroup{reason, service}]
	s.Dropped[dropGroup{reason, service}] = dropped{known.Profiles + 1, cmp.Or(known.Err, err)}
}

// Deduplicator makes messages canonical. It is safe for concurrent use.
type Deduplicator struct {
	opts     Options
	dropKeys map[string]bool
	kept     scratch.Keeper[work]
}

// New returns a Deduplicator with these options.
func New(opts Options) *Deduplicator {
	opts.OnInvalid = cmp.Or(opts.OnInvalid, DropProfile)
	d := &Deduplicator{opts: opts}
	if len(opts.DropAttributes) > 0 {
		d.dropKeys = map[string]bool{}
	}
	for _, key := range opts.DropAttributes {
		d.dropKeys[key] = true
	}
	return d
}

// Deduplicate makes pd canonical in place and returns it. It does not change a canonical message. It copies a read-only
// message that is not canonical.
//
// The only error is that of the first invalid profile, with Reject; pd is then unchanged.
func (d *Deduplicator) Deduplicate(pd pprofile.Profiles) (pprofile.Profiles, Stats, error) {
	w := d.kept.GetOrNew()
	defer func() {
		w.pd, w.times = pprofile.Profiles{}, nil
		w.tables.Release()
		d.kept.Put(w, int(w.bytes()))
	}()
	w.opts, w.dropKeys, w.pd, w.stats = &d.opts, d.dropKeys, pd, Stats{}
	err := w.run()
	return w.pd, w.stats, err
}

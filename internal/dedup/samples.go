// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/walk"
)

// sampleWork combines the samples of one profile.
type sampleWork struct {
	stacks stackUses
	// mixed tells whether samples of one stack may differ in their shapes.
	mixed bool
	// identities numbers the samples by identity. The shape stands in front of the attributes: samples of different
	// shapes are never one.
	identities dictionary.SampleTable
	// shapeless numbers them without their shape, to count those that differ in nothing else.
	shapeless dictionary.SampleTable
	key       []int32
	// keepers holds the first sample of each identity.
	keepers []pprofile.Sample
}

// samplesChange tells whether the samples of any profile are to be changed, other than by new indices. What they refer to
// does not change.
func (w *work) samplesChange() bool {
	for profile := range walk.Profiles(w.pd) {
		if w.profileChanges(profile) {
			return true
		}
	}
	return false
}

func (w *work) profileChanges(profile pprofile.Profile) bool {
	samples := profile.Samples()
	w.samples.identities.Reset(w.countStacks(samples))
	for i := range samples.Len() {
		sample := samples.At(i)
		if w.reshapes(sample) || w.isZero(sample) || shapeOf(sample) == noData {
			return true
		}
		if !w.samples.stacks.shared(w.tables.FindStack(sample.StackIndex())) {
			continue
		}
		if _, added := w.samples.identities.Index(w.identity(sample), w.samples.key); !added {
			return true
		}
	}
	return false
}

// countStacks counts the samples of each stack. A sample that is the only one of its stack equals no other, and need not
// be looked for among them. It returns how many are not.
func (w *work) countStacks(samples pprofile.SampleSlice) (sharing int) {
	s := &w.samples
	s.stacks.begin(w.tables.SizesBefore().Stacks)
	s.mixed = false
	var first shape
	for i := range samples.Len() {
		sample := samples.At(i)
		if w.isZero(sample) {
			continue // goes, and its stack need not exist
		}
		sharing += s.stacks.add(w.tables.FindStack(sample.StackIndex()))
		if shape := w.shapeAfter(sample); first == 0 {
			first = shape
		} else if shape != first {
			s.mixed = true
		}
	}
	return sharing
}

// isZero tells whether a sample is to be dropped for having only zeros.
func (w *work) isZero(sample pprofile.Sample) bool {
	if !w.opts.DropZeroSamples || sample.TimestampsUnixNano().Len() > 0 {
		return false
	}
	return sum(sample) == 0
}

// identity returns where a sample belongs, and leaves what else makes it what it is in w.samples.key, its shape first.
func (w *work) identity(sample pprofile.Sample) dictionary.SampleIdentity {
	w.samples.key = append(w.samples.key[:0], int32(w.shapeAfter(sample)))
	w.samples.key, _ = w.tables.AppendSet(w.samples.key, sample.AttributeIndices(), true)
	return dictionary.SampleIdentity{
		Stack: w.tables.FindStack(sample.StackIndex()),
		Link:  w.tables.FindLink(sample.LinkIndex()),
	}
}

// combine rewrites the samples of a profile: those of equal identity become one, with the new indices.
func (w *work) combine(profile pprofile.Profile) {
	s := &w.samples
	samples := profile.Samples()
	sharing := w.countStacks(samples)
	s.identities.Reset(sharing)
	if s.mixed {
		s.shapeless.Reset(sharing)
	}
	s.keepers = s.keepers[:0]
	samples.RemoveIf(func(sample pprofile.Sample) bool {
		if w.isZero(sample) {
			w.stats.ZeroSamples++
			return true
		}
		if w.opts.Shape == ShapeTotal {
			makeTotal(sample)
		}
		sumValues(sample)
		if shapeOf(sample) == noData {
			sample.Values().Append(0)
		}
		w.stats.DroppedAttributes += w.tables.CountDropped(sample.AttributeIndices())
		if s.stacks.shared(w.tables.FindStack(sample.StackIndex())) && !w.keep(sample) {
			return true
		}
		w.tables.RewriteSample(sample)
		return false
	})
	clear(s.keepers)
	if w.opts.Shape == ShapePerEvent {
		splitEvents(profile)
	}
}

// keep tells whether a sample is the first of its identity, and adds it to the first one otherwise.
func (w *work) keep(sample pprofile.Sample) bool {
	s := &w.samples
	id := w.identity(sample)
	number, added := s.identities.Index(id, s.key)
	if !added {
		addSample(s.keepers[number], sample)
		return false
	}
	s.keepers = append(s.keepers, sample)
	if s.mixed {
		if _, first := s.shapeless.Index(id, s.key[1:]); !first {
			w.stats.MixedShapes++
		}
	}
	return true
}

// addSample adds what from holds to a sample of equal identity and shape.
func addSample(to, from pprofile.Sample) {
	if to.TimestampsUnixNano().Len() == 0 && to.Values().Len() > 0 {
		to.Values().FromRaw([]int64{sum(to) + sum(from)})
		return
	}
	from.Values().MoveAndAppendTo(to.Values())
	from.TimestampsUnixNano().MoveAndAppendTo(to.TimestampsUnixNano())
}

func sum(sample pprofile.Sample) (total int64) {
	values := sample.Values()
	for i := range values.Len() {
		total += values.At(i)
	}
	return total
}

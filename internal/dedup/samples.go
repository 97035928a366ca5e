// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/walk"
)

// sampleWork combines the samples of one profile.
type sampleWork struct {
	stacks stackUses
	// reshaped tells whether a sample of the message is to be changed by itself, sharing whether two samples of a profile have
	// the same index of a stack, and shapes which shapes there are: a bit for each.
	reshaped, sharing bool
	shapes            uint8
	// identities numbers the samples by identity. The shape stands in front of the attributes: samples of different
	// shapes are never one.
	identities dictionary.SampleTable
	// shapeless numbers them without their shape, to count those that differ in nothing else.
	shapeless dictionary.SampleTable
	key       []int32
	// pairs holds the stacks and attributes of the samples with no link and at most one attribute.
	pairs dictionary.PairSet
	// keepers holds the first sample of each identity.
	keepers []pprofile.Sample
}

// noteSample notes of a sample whose stack exists what samplesChange and combine have to know.
func (w *work) noteSample(stack int32, values, timestamps int) {
	s := &w.samples
	if s.stacks.add(stack) > 0 {
		s.sharing = true
	}
	if values != 1 || timestamps > 0 {
		s.reshaped = s.reshaped || w.reshapes(values, timestamps)
	}
	s.shapes |= 1 << -shapeOf(max(values, 1-timestamps), timestamps)
}

// mixed tells whether samples of one stack may differ in their shapes.
func (w *work) mixed() bool {
	return w.opts.Shape != ShapeTotal && bits.OnesCount8(w.samples.shapes) > 1
}

// samplesChange tells whether the samples of any profile are to be changed, where no index changes.
func (w *work) samplesChange() bool {
	if w.samples.reshaped {
		return true
	}
	if !w.samples.sharing {
		return false
	}
	for profile := range walk.Profiles(w.pd) {
		if w.samplesEqual(profile.Samples()) {
			return true
		}
	}
	return false
}

// samplesEqual tells whether any two samples of a profile are equal. No index changes, so that each stands for itself, and
// each list for its set.
func (w *work) samplesEqual(samples pprofile.SampleSlice) bool {
	s := &w.samples
	sharing := w.countStacks(samples)
	if sharing == 0 {
		return false
	}
	s.pairs.Reset(sharing)
	s.identities.Reset(0)
	mixed := w.mixed()
	for i := range samples.Len() {
		sample := samples.At(i)
		stack := sample.StackIndex()
		if !s.stacks.shared(stack) || w.staysEvent(sample) {
			continue
		}
		added := false
		if attributes := sample.AttributeIndices(); mixed || sample.LinkIndex() != 0 || attributes.Len() > 1 {
			_, added = s.identities.Index(w.identity(sample), s.key)
		} else if attributes.Len() == 0 {
			added = s.pairs.Add(stack, 0)
		} else {
			added = s.pairs.Add(stack, attributes.At(0))
		}
		if !added {
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
	for i := range samples.Len() {
		sample := samples.At(i)
		if w.isZero(sample) {
			continue // goes, and its stack need not exist
		}
		sharing += s.stacks.add(w.tables.FindStack(sample.StackIndex()))
	}
	return sharing
}

// isZero tells whether a sample is to be dropped for having only zeros.
func (w *work) isZero(sample pprofile.Sample) bool {
	return w.opts.DropZeroSamples && sample.TimestampsUnixNano().Len() == 0 && sum(sample) == 0
}

// staysEvent reports whether a sample has timestamps that are not combined with those of other samples.
func (w *work) staysEvent(sample pprofile.Sample) bool {
	return w.opts.Shape == ShapePerEvent && sample.TimestampsUnixNano().Len() > 0
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
	if w.mixed() {
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
		if sample.Values().Len() == 0 && sample.TimestampsUnixNano().Len() == 0 {
			sample.Values().Append(0)
		}
		w.stats.DroppedAttributes += w.tables.CountDropped(sample.AttributeIndices())
		if s.stacks.shared(w.tables.FindStack(sample.StackIndex())) && !w.keep(sample) {
			return true
		}
		if w.tables.Renumbered() {
			w.tables.RewriteSample(sample)
		}
		return false
	})
	clear(s.keepers)
	if w.opts.Shape == ShapePerEvent {
		splitEvents(profile)
	}
}

// keep reports whether a sample stays. If it is neither the first of its identity nor stays an event, keep adds it to the first.
func (w *work) keep(sample pprofile.Sample) bool {
	s := &w.samples
	id := w.identity(sample)
	number, added := s.identities.Index(id, s.key)
	if !added && w.staysEvent(sample) {
		return true
	}
	if !added {
		addSample(s.keepers[number], sample)
		return false
	}
	s.keepers = append(s.keepers, sample)
	if w.mixed() {
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

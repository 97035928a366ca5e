// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// sampleWork combines the samples of one profile.
type sampleWork struct {
	stacks stackUses
	// reshaped is true if a sample changes whatever the others are, equal if two samples of a profile have equal identity. shapes has a
	// bit for each shape that occurs.
	reshaped, equal bool
	shapes          uint8
	// sharing is the number of samples of the current profile that share their stack index with others.
	sharing int
	// identities numbers the samples by identity. The shape is the first attribute, so samples of different shapes are
	// not combined.
	identities dictionary.SampleTable
	// shapeless numbers them without their shape, to count those that only differ in shape.
	shapeless dictionary.SampleTable
	key       []int32
	// pairs has the stacks and attributes of the samples without a link and with at most one attribute.
	pairs dictionary.PairSet
	// keepers has the first sample of each identity.
	keepers []pprofile.Sample
}

// mixed reports whether samples of one stack can differ in their shapes.
func (w *work) mixed() bool {
	return w.opts.Shape != ShapeTotal && bits.OnesCount8(w.samples.shapes) > 1
}

// noteEqual notes whether two samples of the profile whose samples were just noted have equal identity. It compares indices. That is
// right if no index changes: then different indices are different values, and lists are sorted sets.
func (w *work) noteEqual(samples pprofile.SampleSlice) {
	s := &w.samples
	if s.sharing == 0 || s.equal || s.reshaped || w.tables.Changed() {
		return
	}
	s.pairs.Reset(s.sharing)
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
			_, added = s.identities.Index(w.identity(sample, stack), s.key)
		} else if attributes.Len() == 0 {
			added = s.pairs.Add(stack, 0)
		} else {
			added = s.pairs.Add(stack, attributes.At(0))
		}
		if !added {
			s.equal = true
			return
		}
	}
}

// isZero reports whether a sample is dropped because all its values are zero.
func (w *work) isZero(sample pprofile.Sample) bool {
	return w.opts.DropZeroSamples && sample.TimestampsUnixNano().Len() == 0 && sum(sample) == 0
}

// staysEvent reports whether a sample has timestamps that are not combined with those of other samples.
func (w *work) staysEvent(sample pprofile.Sample) bool {
	return w.opts.Shape == ShapePerEvent && sample.TimestampsUnixNano().Len() > 0
}

// identity returns the stack and link of a sample, and sets w.samples.key to its shape in the result and its attributes.
func (w *work) identity(sample pprofile.Sample, stack int32) dictionary.SampleIdentity {
	shape := shapeOf(sample.Values().Len(), sample.TimestampsUnixNano().Len())
	if w.opts.Shape == ShapeTotal || shape == noData {
		shape = valuesOnly // Without values and timestamps, which the protocol does not allow, it gets the value 0.
	}
	w.samples.key = append(w.samples.key[:0], int32(shape))
	w.samples.key = w.tables.AppendSet(w.samples.key, sample.AttributeIndices(), true)
	return dictionary.SampleIdentity{Stack: stack, Link: w.tables.Find(dictionary.Links, sample.LinkIndex())}
}

// combine combines the samples of a profile with equal identity, and replaces their indices. The identity of a sample that
// shares its stack with no other is unique, so no lookup is necessary for it.
func (w *work) combine(profile pprofile.Profile) {
	s := &w.samples
	samples := profile.Samples()
	sharing := 0
	s.stacks.begin(w.pd.Dictionary().StackTable().Len())
	for i := range samples.Len() {
		if sample := samples.At(i); !w.isZero(sample) { // The others are dropped, and their stacks need not exist.
			sharing += s.stacks.add(w.tables.Find(dictionary.Stacks, sample.StackIndex()))
		}
	}
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
		w.reshape(sample)
		w.stats.DroppedAttributes += w.tables.CountDropped(sample.AttributeIndices())
		if s.stacks.shared(w.tables.Find(dictionary.Stacks, sample.StackIndex())) && !w.keep(sample) {
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
	id := w.identity(sample, w.tables.Find(dictionary.Stacks, sample.StackIndex()))
	number, added := s.identities.Index(id, s.key)
	if !added && w.staysEvent(sample) {
		return true
	}
	if !added {
		to := s.keepers[number] // It has the same shape.
		if to.TimestampsUnixNano().Len() == 0 && to.Values().Len() > 0 {
			to.Values().FromRaw([]int64{sum(to) + sum(sample)})
			return false
		}
		sample.Values().MoveAndAppendTo(to.Values())
		sample.TimestampsUnixNano().MoveAndAppendTo(to.TimestampsUnixNano())
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

func sum(sample pprofile.Sample) (total int64) {
	values := sample.Values()
	for i := range values.Len() {
		total += values.At(i)
	}
	return total
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// sampleWork combines the samples of one profile.
type sampleWork struct {
	// identities numbers the samples by identity. The shape stands in front of the attributes: samples of different
	// shapes are never one.
	identities dictionary.SampleTable
	// shapeless numbers them without their shape, to count those that differ in nothing else.
	shapeless dictionary.SampleTable
	key       []int32
	// keepers holds the first sample of each identity.
	keepers []pprofile.Sample
}

// shape is what a sample has.
type shape int32

const (
	noData shape = -iota - 1
	valuesOnly
	timestampsOnly
	valuesAndTimestamps
)

func shapeOf(sample pprofile.Sample) shape {
	values, timestamps := sample.Values().Len() > 0, sample.TimestampsUnixNano().Len() > 0
	switch {
	case values && timestamps:
		return valuesAndTimestamps
	case timestamps:
		return timestampsOnly
	case values:
		return valuesOnly
	default:
		return noData
	}
}

// shapeAfter is the shape that a sample will have. One without values and timestamps, which the protocol does not allow,
// gets the value 0.
func (w *work) shapeAfter(sample pprofile.Sample) shape {
	s := shapeOf(sample)
	if w.opts.Shape == ShapeTotal || s == noData {
		return valuesOnly
	}
	return s
}

// samplesChange tells whether the samples of any profile are to be changed, other than by new indices.
func (w *work) samplesChange() bool {
	for profile := range profilesOf(w.pd) {
		if w.profileChanges(profile) {
			return true
		}
	}
	return false
}

func (w *work) profileChanges(profile pprofile.Profile) bool {
	if set, same := w.tables.AppendSet(w.samples.key[:0], profile.AttributeIndices(), false); !same {
		w.samples.key = set
		return true
	}
	samples := profile.Samples()
	w.samples.identities.Reset(samples.Len())
	for i := range samples.Len() {
		sample := samples.At(i)
		if w.reshapes(sample) || w.isZero(sample) || shapeOf(sample) == noData {
			return true
		}
		id, same := w.identity(sample)
		if !same {
			return true
		}
		if _, added := w.samples.identities.Index(id, w.samples.key); !added {
			return true
		}
	}
	return false
}

// reshapes tells whether the options change a sample by itself.
func (w *work) reshapes(sample pprofile.Sample) bool {
	timestamps := sample.TimestampsUnixNano().Len()
	switch w.opts.Shape {
	case ShapePerEvent:
		return timestamps > 1
	case ShapeTotal:
		return timestamps > 0 || sample.Values().Len() > 1
	case ShapeCombined:
	}
	return false
}

// isZero tells whether a sample is to be dropped for having only zeros.
func (w *work) isZero(sample pprofile.Sample) bool {
	if !w.opts.DropZeroSamples || sample.TimestampsUnixNano().Len() > 0 {
		return false
	}
	for _, v := range sample.Values().All() {
		if v != 0 {
			return false
		}
	}
	return true
}

// identity leaves what makes a sample what it is in w.samples.key, its shape first, and tells whether its attributes
// are written as they should be.
func (w *work) identity(sample pprofile.Sample) (dictionary.SampleIdentity, bool) {
	id := dictionary.SampleIdentity{
		Stack: w.tables.FindStack(sample.StackIndex()),
		Link:  w.tables.FindLink(sample.LinkIndex()),
	}
	var same bool
	w.samples.key = append(w.samples.key[:0], int32(w.shapeAfter(sample)))
	w.samples.key, same = w.tables.AppendSet(w.samples.key, sample.AttributeIndices(), true)
	return id, same
}

// combine rewrites the samples of a profile: those of equal identity become one, with the new indices.
func (w *work) combine(profile pprofile.Profile) {
	s := &w.samples
	samples := profile.Samples()
	s.identities.Reset(samples.Len())
	s.shapeless.Reset(samples.Len())
	s.keepers = s.keepers[:0]
	perEvent := eventValue(profile)
	samples.RemoveIf(func(sample pprofile.Sample) bool {
		if w.isZero(sample) {
			w.stats.ZeroSamples++
			return true
		}
		if w.opts.Shape == ShapeTotal {
			makeTotal(sample, perEvent)
		}
		if shapeOf(sample) == noData {
			sample.Values().Append(0)
		}
		w.stats.DroppedAttributes += w.tables.CountDropped(sample.AttributeIndices())
		id, _ := w.identity(sample)
		number, added := s.identities.Index(id, s.key)
		if !added {
			addSample(s.keepers[number], sample)
			return true
		}
		s.keepers = append(s.keepers, sample)
		if _, first := s.shapeless.Index(id, s.key[1:]); !first {
			w.stats.MixedShapes++
		}
		w.rewrite(sample)
		return false
	})
	clear(s.keepers)
	if w.opts.Shape == ShapePerEvent {
		splitEvents(profile)
	}
}

// rewrite gives a sample the new indices.
func (w *work) rewrite(sample pprofile.Sample) {
	c := &w.tables
	sample.SetStackIndex(c.NewStack(sample.StackIndex()))
	sample.SetLinkIndex(c.NewLink(sample.LinkIndex()))
	if attributes := sample.AttributeIndices(); attributes.Len() > 0 {
		c.RewriteAttributes(attributes, true)
	}
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

// makeTotal leaves one value and no timestamps. Without values each timestamp counts perEvent.
func makeTotal(sample pprofile.Sample, perEvent int64) {
	timestamps := sample.TimestampsUnixNano()
	total := sum(sample)
	if sample.Values().Len() == 0 {
		total = perEvent * int64(timestamps.Len())
	}
	timestamps.FromRaw(nil)
	sample.Values().FromRaw([]int64{total})
}

// eventValue is what a timestamp without a value stands for: one event, or a period where that is what the profile
// counts.
func eventValue(profile pprofile.Profile) int64 {
	sampleType, periodType := profile.SampleType(), profile.PeriodType()
	named := sampleType.TypeStrindex() != 0 || sampleType.UnitStrindex() != 0
	if named && profile.Period() > 0 && sampleType.TypeStrindex() == periodType.TypeStrindex() &&
		sampleType.UnitStrindex() == periodType.UnitStrindex() {
		return profile.Period()
	}
	return 1
}

// splitEvents makes a sample of each timestamp. Samples keep their order.
func splitEvents(profile pprofile.Profile) {
	several := false
	for _, sample := range profile.Samples().All() {
		several = several || sample.TimestampsUnixNano().Len() > 1
	}
	if !several {
		return
	}
	split := pprofile.NewSampleSlice()
	for _, sample := range profile.Samples().All() {
		if sample.TimestampsUnixNano().Len() <= 1 {
			sample.MoveTo(split.AppendEmpty())
			continue
		}
		for i, at := range sample.TimestampsUnixNano().All() {
			event := split.AppendEmpty()
			event.SetStackIndex(sample.StackIndex())
			event.SetLinkIndex(sample.LinkIndex())
			sample.AttributeIndices().CopyTo(event.AttributeIndices())
			event.TimestampsUnixNano().Append(at)
			if sample.Values().Len() > 0 {
				event.Values().Append(sample.Values().At(i))
			}
		}
	}
	profile.Samples().RemoveIf(func(pprofile.Sample) bool { return true })
	split.MoveAndAppendTo(profile.Samples())
}

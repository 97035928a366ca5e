// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import "go.opentelemetry.io/collector/pdata/pprofile"

// shape is what a sample has.
type shape int32

const (
	noData shape = -iota - 1
	valuesOnly
	timestampsOnly
	valuesAndTimestamps
)

// shapeOf is the shape of a sample with so many values and timestamps.
func shapeOf(values, timestamps int) shape {
	switch {
	case values > 0 && timestamps > 0:
		return valuesAndTimestamps
	case timestamps > 0:
		return timestampsOnly
	case values > 0:
		return valuesOnly
	default:
		return noData
	}
}

// shapeAfter is the shape that a sample will have. One without values and timestamps, which the protocol does not allow,
// gets the value 0.
func (w *work) shapeAfter(sample pprofile.Sample) shape {
	s := shapeOf(sample.Values().Len(), sample.TimestampsUnixNano().Len())
	if w.opts.Shape == ShapeTotal || s == noData {
		return valuesOnly
	}
	return s
}

// reshapes tells whether a sample with so many values and timestamps changes by itself.
func (w *work) reshapes(values, timestamps int) bool {
	switch {
	case timestamps == 0:
		return values != 1
	case w.opts.Shape == ShapePerEvent:
		return timestamps > 1
	default:
		return w.opts.Shape == ShapeTotal
	}
}

// sumValues leaves one value of several without timestamps: the protocol has one, the total.
func sumValues(sample pprofile.Sample) {
	if sample.TimestampsUnixNano().Len() == 0 && sample.Values().Len() > 1 {
		sample.Values().FromRaw([]int64{sum(sample)})
	}
}

// makeTotal leaves one value and no timestamps. Without values each timestamp counts 1, whatever the period is: the protocol
// says so.
func makeTotal(sample pprofile.Sample) {
	timestamps := sample.TimestampsUnixNano()
	total := sum(sample)
	if sample.Values().Len() == 0 {
		total = int64(timestamps.Len())
	}
	timestamps.FromRaw(nil)
	sample.Values().FromRaw([]int64{total})
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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import "go.opentelemetry.io/collector/pdata/pprofile"

// shape says whether a sample has values and timestamps.
type shape int32

const (
	noData shape = -iota - 1
	valuesOnly
	timestampsOnly
	valuesAndTimestamps
)

// shapeOf returns the shape of a sample with these numbers of values and timestamps.
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

// reshapes reports whether a sample with these numbers of values and timestamps changes, whatever the others are.
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

// reshape replaces the values of a sample without timestamps by their sum: the protocol has a single value. With ShapeTotal, it also
// does so with timestamps. By the rules of the protocol, a timestamp without a value counts 1, whatever the period is.
func (w *work) reshape(sample pprofile.Sample) {
	values, timestamps := sample.Values().Len(), sample.TimestampsUnixNano().Len()
	if timestamps == 0 && values == 1 || timestamps > 0 && w.opts.Shape != ShapeTotal {
		return
	}
	total := sum(sample)
	if values == 0 {
		total = int64(timestamps)
	}
	sample.TimestampsUnixNano().FromRaw(nil)
	sample.Values().FromRaw([]int64{total})
}

// splitEvents creates a sample for each timestamp. Samples keep their order.
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

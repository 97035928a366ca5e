// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import "github.com/otelpprof/otelpprof/internal/dictionary"

// addSamples adds each sample to the profiles of the types for which it has a value. A zero is left out if the sample has another
// value. A sample with only zeros is added to the first profile.
func (t *decoding) addSamples() {
	w := &t.wire
	t.labels.reset(w.NumStrings(), len(t.opts.LinkLabels), t.opts.TimestampLabels)
	start := uint64(max(w.TimeNanos, 0))
	t.events = events{start: start, end: start + uint64(max(w.DurationNanos, 0))}
	var values, labels uint32
	var stacks []int32
	for i := range w.Samples {
		if t.meter.Err() != nil {
			return
		}
		inBatch := i % dictionary.StacksPerBatch
		if inBatch == 0 {
			stacks = t.tables.AddStacks(i, min(i+dictionary.StacksPerBatch, len(w.Samples)))
		}
		s, stack := &w.Samples[i], stacks[inBatch]
		link := int32(0)
		t.attributes, t.labels.timestamp = t.attributes[:0], 0
		if labels < s.LabelsEnd {
			link = t.translateLabels(w.Labels[labels:s.LabelsEnd])
		}
		of := w.Values[values:s.ValuesEnd]
		if len(of) == 0 {
			of = t.zeros
		}
		added := false
		for i, v := range of {
			if v != 0 || t.opts.KeepZeroValues {
				t.addValue(i, stack, link, v)
				added = true
			}
		}
		if !added {
			t.addValue(t.order[0], stack, link, 0)
		}
		values, labels = s.ValuesEnd, s.LabelsEnd
	}
}

// addValue adds a value for a sample type.
func (t *decoding) addValue(typ int, stack, link int32, value int64) {
	if at := t.labels.timestamp; at != 0 {
		t.addEvent(typ, stack, link, value, at)
		return
	}
	sample := t.slices[typ].AppendEmpty()
	sample.SetStackIndex(stack)
	if link != 0 {
		sample.SetLinkIndex(link)
	}
	if len(t.attributes) > 0 {
		sample.AttributeIndices().Append(t.attributes...)
	}
	sample.Values().Append(value)
}

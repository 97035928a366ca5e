// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// sampleStack is a distinct stack of the pprof, the number of the last identity with it, and the label set of that
// identity.
type sampleStack struct {
	stack, number int32
	labels        uint32
}

// addEvents adds each sample as an event. Parts that an earlier sample has are not translated again.
func (t *decoding) addEvents() {
	w := &t.wire
	t.labels.begin(t)
	t.stacks = scratch.Zeroed(t.stacks, len(w.Samples))
	start, translated := pprofwire.Sample{}, -1 // the sample whose labels were translated last
	for i, end := range w.Samples {
		if t.memory.Err() != nil {
			return
		}
		ownLocations, ownLabels := i, i
		if other := w.Repeats[i].Locations; other != 0 {
			ownLocations = int(other - 1)
		}
		if other := w.Repeats[i].Labels; other != 0 {
			ownLabels = int(other - 1)
		}
		if ownLocations < i || start.LocationsEnd < end.LocationsEnd || !t.opts.DropEmptyStacks {
			if ownLabels != translated {
				t.translateLabels(t.labelsOf(ownLabels))
				translated = ownLabels
			}
			if ownLocations == i {
				t.stacks[i].stack = t.tables.AddStack(w.LocationIDs[start.LocationsEnd:end.LocationsEnd])
			}
			t.addEvent(&t.stacks[ownLocations], w.Values[start.ValuesEnd:end.ValuesEnd])
		}
		start = end
	}
}

// addEvent adds an event with the labels that were translated last.
func (t *decoding) addEvent(s *sampleStack, values []int64) {
	e := &t.labels.event
	e.stack = s.stack
	if s.labels != t.labels.identity {
		s.labels, s.number = t.labels.identity, t.events.number(e, t.attributes)
	}
	t.events.add(e, s.number, values)
}

// labelsOf returns the range of the labels of sample i, which must not be a repetition.
func (t *decoding) labelsOf(i int) (start, end uint32) {
	if i > 0 {
		start = t.wire.Samples[i-1].LabelsEnd
	}
	return start, t.wire.Samples[i].LabelsEnd
}

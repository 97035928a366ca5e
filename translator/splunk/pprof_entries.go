// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/tables"
)

// rules translate the entries of a pprof: they remove placeholders for unknown values, and add frame types.
type rules struct{ *decoding }

var _ tables.Rules = rules{}

func (r rules) Text(i uint32) []byte { return r.valid(r.wire.String(i)) }

func (r rules) AddText(key int32, i uint32) (attribute int32, added bool) {
	if r.memory.Need(dictionary.AttributeBytes+3*int64(len(r.wire.String(i)))) != nil {
		return 0, false
	}
	return r.dict.StringBytesAttribute(key, r.Text(i)), true
}

func (r rules) Function(from *pprofwire.Function) dictionary.Function {
	function := dictionary.Function{Name: r.tables.String(from.Name), StartLine: max(from.StartLine, 0)}
	if from.Filename != 0 && !isNoFile(r.wire.String(from.Filename)) {
		function.Filename = r.tables.String(from.Filename)
	}
	if system := r.tables.String(from.SystemName); system != function.Name {
		function.SystemName = system
	}
	if function.Name == 0 && function.SystemName == 0 && function.Filename == 0 {
		function.Name = r.dict.String(anonymousFunction)
	}
	return function
}

func (r rules) Line(from *pprofwire.Line, function int32) dictionary.Line {
	return dictionary.Line{Function: function, Line: max(from.Line, 0), Column: max(from.Column, 0)}
}

func (r rules) LocationAttributes(attributes []int32, leaf *pprofwire.Function) []int32 {
	if leaf == nil {
		return attributes
	}
	if frameType := r.frameType(isNative(r.optional(leaf.Name), r.optional(leaf.Filename))); frameType >= 0 {
		attributes = append(attributes, frameType)
	}
	return attributes
}

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

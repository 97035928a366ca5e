// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package speedscope

import (
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// unit is the translation of a unit of the format.
type unit struct {
	sampleType pprof.ValueType
	factor     int64
	// whole is true if values must be whole numbers.
	whole bool
}

var units = map[string]unit{
	"none":         {pprof.ValueType{Type: "samples", Unit: "count"}, 1, true},
	"bytes":        {pprof.ValueType{Type: "space", Unit: "bytes"}, 1, true},
	"nanoseconds":  {wall, 1, false},
	"microseconds": {wall, 1e3, false},
	"milliseconds": {wall, 1e6, false},
	"seconds":      {wall, 1e9, false},
}

var wall = pprof.ValueType{Type: "wall", Unit: "nanoseconds"}

// header has the fields of a profile that are read first, and the places of the fields that depend on them.
type header struct {
	kind, name, unit                     []byte
	start, end, events, samples, weights profilebuilder.Place
}

func (r *reader) readProfile() {
	h := r.readHeader()
	after := r.At
	of, known := units[string(h.unit)]
	if !known {
		r.Failf("unit %q is not known", h.unit)
	}
	p := profilebuilder.Profile{Name: h.name, Type: r.SampleType(of.sampleType)}
	if of.sampleType == wall && h.start.At > 0 && h.end.At > 0 {
		p.Duration = r.duration(&h, of)
	}
	profile := r.AddProfile(p)
	evented, sampled := string(h.kind) == "evented", string(h.kind) == "sampled"
	switch {
	case evented && h.events.At > 0:
		r.At = h.events.At
		r.readEvents(profile, of)
	case sampled && h.samples.At > 0 && h.weights.At > 0:
		r.readSamples(profile, of, &h)
	case evented, sampled:
		r.Failf("type %q needs events, or samples and weights", h.kind)
	default:
		r.Failf("type %q is not known, it must be evented or sampled", h.kind)
	}
	r.At = after
}

func (r *reader) readHeader() (h header) {
	for key := range r.Fields() {
		switch string(key) {
		case "type":
			h.kind = r.ReadText()
		case "name":
			h.name = r.ReadText()
		case "unit":
			h.unit = r.ReadText()
		case "startValue":
			h.start = r.Mark()
		case "endValue":
			h.end = r.Mark()
		case "events":
			h.events = r.Mark()
		case "samples":
			h.samples = r.MarkArray()
		case "weights":
			h.weights = r.MarkArray()
		default:
			r.Skip()
		}
	}
	return h
}

// duration returns the time from startValue to endValue.
func (r *reader) duration(h *header, of unit) uint64 {
	r.At = h.start.At
	start := r.ReadValue(of.factor, of.whole)
	r.At = h.end.At
	end := r.ReadValue(of.factor, of.whole)
	if end < start {
		r.Failf("endValue is below startValue")
	}
	return uint64(end) - uint64(start)
}

// readSamples reads stacks and their weights.
func (r *reader) readSamples(profile *profilebuilder.Profile, of unit, h *header) {
	if h.samples.Items != h.weights.Items {
		r.Failf("there are %d samples and %d weights", h.samples.Items, h.weights.Items)
	}
	r.At, r.weights = h.weights.At, profilebuilder.Grow(r.Builder, r.weights[:0], h.weights.Items)
	for number := range r.Items("") {
		weight := r.ReadValue(of.factor, of.whole)
		if weight < 0 {
			r.Failf("weight %d is below 0", number)
		}
		r.weights = append(r.weights, weight)
	}
	r.At = h.samples.At
	for number := range r.Items("sample") {
		r.stack = r.stack[:0]
		for range r.Items("") {
			r.stack = r.Push(r.stack, r.location(r.index()))
		}
		profile.Add(r.Stack(r.stack, true), nil, r.weights[number], 0)
	}
}

// index reads the index of a frame.
func (r *reader) index() int32 {
	value := r.ReadValue(1, true)
	if value < 0 || value >= int64(len(r.frames)) {
		r.Failf("byte %d: frame %d does not exist, there are %d", r.At, value, len(r.frames))
	}
	return int32(value)
}

// event opens or closes a frame.
type event struct {
	kind  []byte
	at    int64
	frame int32
	// hasAt and hasFrame report whether the event has these fields. kind is empty if the field is missing.
	hasAt, hasFrame bool
}

// readEvents reads events. The time between two events is a value of the stack of frames that are open. If none is open,
// there is no sample.
func (r *reader) readEvents(profile *profilebuilder.Profile, of unit) {
	var last int64
	var open []int32 // root first
	for number := range r.Items("event") {
		e := r.readEvent(of)
		if number == 0 {
			last = e.at
		}
		open = r.apply(profile, open, &e, last)
		last = e.at
	}
	if len(open) > 0 {
		r.Failf("frame %d is not closed", open[len(open)-1])
	}
}

func (r *reader) readEvent(of unit) (e event) {
	for key := range r.Fields() {
		switch string(key) {
		case "type":
			e.kind = r.ReadText()
		case "at":
			e.hasAt = true
			e.at = r.ReadValue(of.factor, of.whole)
		case "frame":
			e.hasFrame = true
			e.frame = r.index()
		default:
			r.Skip()
		}
	}
	if !e.hasAt || !e.hasFrame {
		r.Failf("the event must have type, at and frame")
	}
	return e
}

// apply adds the value that ends with an event, and opens or closes its frame.
func (r *reader) apply(profile *profilebuilder.Profile, open []int32, e *event, last int64) []int32 {
	switch {
	case e.at < last:
		r.Failf("the event is earlier than the previous one")
	case len(open) > 0 && e.at > last:
		if e.at-last < 0 {
			r.Failf("the event is too long after the previous one")
		}
		r.stack = r.stack[:0]
		for _, frame := range open {
			r.stack = r.Push(r.stack, r.location(frame))
		}
		profile.Add(r.Stack(r.stack, true), nil, e.at-last, 0)
	}
	switch string(e.kind) {
	case "O":
		open = r.Push(open, e.frame)
	case "C":
		if len(open) == 0 || open[len(open)-1] != e.frame {
			r.Failf("frame %d is closed, but is not the last that was opened", e.frame)
			break
		}
		open = open[:len(open)-1]
	default:
		r.Failf("type %q is not known, it must be O or C", e.kind)
	}
	return open
}

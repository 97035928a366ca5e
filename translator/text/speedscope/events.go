// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package speedscope

import "github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"

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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package speedscope

import (
	"fmt"

	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// event opens or closes a frame.
type event struct {
	kind  []byte
	at    int64
	frame int
	// hasAt and hasFrame report whether the event has these fields. kind is empty if the field is missing.
	hasAt, hasFrame bool
}

// readEvents reads events. The time between two events is a value of the stack of frames that are open. If none is open,
// there is no sample.
func (r *reader) readEvents(profile *profilebuilder.Profile, of unit) error {
	var last int64
	number := 0
	field := func(key []byte) error { return r.readEventField(key, of) }
	var open []int // root first
	err := r.Array(func() error {
		r.event = event{}
		err := r.Object(field)
		if err == nil && number == 0 {
			last = r.event.at
		}
		if err == nil {
			open, err = r.apply(profile, open, last)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", number, err)
		}
		last = r.event.at
		if r.Err() != nil {
			r.AddPosition("event %d", number)
		}
		number++
		return r.Err()
	})
	if err == nil && len(open) > 0 {
		err = profilebuilder.Malformed("frame %d is not closed", open[len(open)-1])
	}
	return err
}

func (r *reader) readEventField(key []byte, of unit) (err error) {
	e := &r.event
	switch string(key) {
	case "type":
		e.kind, err = r.ReadText()
	case "at":
		e.hasAt = true
		e.at, err = r.ReadValue(of.factor, of.whole)
	case "frame":
		e.hasFrame = true
		e.frame, err = r.index()
	default:
		err = r.Skip()
	}
	return err
}

// apply adds the value that ends with an event, and opens or closes its frame.
func (r *reader) apply(profile *profilebuilder.Profile, open []int, last int64) ([]int, error) {
	e := &r.event
	switch {
	case !e.hasAt || !e.hasFrame:
		return open, profilebuilder.Malformed("the event must have type, at and frame")
	case e.at < last:
		return open, profilebuilder.Malformed("the event is earlier than the previous one")
	case len(open) > 0 && e.at > last:
		if e.at-last < 0 {
			return open, profilebuilder.Malformed("the event is too long after the previous one")
		}
		if err := r.fillStack(open); err != nil {
			return open, err
		}
		profile.Add(r.Stack(r.stack, true), nil, e.at-last)
	}
	switch string(e.kind) {
	case "O":
		if r.CheckDepth(len(open) + 1) {
			open = profilebuilder.Append(r.Builder, open, e.frame)
		}
	case "C":
		if len(open) == 0 || open[len(open)-1] != e.frame {
			return open, profilebuilder.Malformed("frame %d is closed, but is not the last that was opened", e.frame)
		}
		open = open[:len(open)-1]
	default:
		return open, profilebuilder.Malformed("type %.64q is not known, it must be O or C", e.kind)
	}
	return open, nil
}

// fillStack sets the stack to the locations of frames.
func (r *reader) fillStack(frames []int) error {
	r.stack = r.stack[:0]
	for _, number := range frames {
		location, err := r.location(number)
		if err != nil {
			return err
		}
		r.stack = profilebuilder.Append(r.Builder, r.stack, location)
	}
	return r.Err()
}

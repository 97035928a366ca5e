// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package speedscope

import (
	"fmt"

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

// header has the fields of a profile that are read first, and the positions of the fields that depend on them.
type header struct {
	kind, name, unit                     []byte
	start, end, events, samples, weights int
	sampleCount, weightCount             int
}

// readProfile reads a profile, and adds its number to errors.
func (r *reader) readProfile() error {
	number := len(r.Profiles())
	err := r.readOneProfile()
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		r.Fail(err)
		r.AddPosition("profile %d", number)
	}
	return r.Err()
}

func (r *reader) readOneProfile() error {
	h, err := r.readHeader()
	if err != nil {
		return err
	}
	after := r.At
	of, known := units[string(h.unit)]
	if !known {
		return profilebuilder.Malformed("unit %.64q is not known", h.unit)
	}
	p := profilebuilder.Profile{Name: string(h.name), Type: r.SampleType(of.sampleType)}
	if of.sampleType == wall {
		if p.Duration, err = r.duration(&h, of); err != nil {
			return err
		}
	}
	profile := r.AddProfile(p)
	switch kind := string(h.kind); {
	case kind == "evented" && h.events > 0:
		r.At = h.events
		err = r.readEvents(profile, of)
	case kind == "sampled" && h.samples > 0 && h.weights > 0:
		err = r.readSamples(profile, of, &h)
	case kind == "evented", kind == "sampled":
		err = profilebuilder.Malformed("type %q needs events, or samples and weights", kind)
	default:
		err = profilebuilder.Malformed("type %.64q is not known, it must be evented or sampled", kind)
	}
	r.At = after
	return err
}

func (r *reader) readHeader() (h header, err error) {
	err = r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			h.kind, err = r.ReadText()
		case "name":
			h.name, err = r.ReadText()
		case "unit":
			h.unit, err = r.ReadText()
		case "startValue":
			err = r.Mark(&h.start)
		case "endValue":
			err = r.Mark(&h.end)
		case "events":
			err = r.Mark(&h.events)
		case "samples":
			err = r.MarkArray(&h.samples, &h.sampleCount)
		case "weights":
			err = r.MarkArray(&h.weights, &h.weightCount)
		default:
			err = r.Skip()
		}
		return err
	})
	if err == nil {
		r.CheckText(len(h.name))
		err = r.Err()
	}
	return h, err
}

// duration returns the time from startValue to endValue, or 0 if one of them is missing.
func (r *reader) duration(h *header, of unit) (uint64, error) {
	if h.start == 0 || h.end == 0 {
		return 0, nil
	}
	r.At = h.start
	start, err := r.ReadValue(of.factor, of.whole)
	if err != nil {
		return 0, err
	}
	r.At = h.end
	end, err := r.ReadValue(of.factor, of.whole)
	if err != nil {
		return 0, err
	}
	if end < start {
		return 0, profilebuilder.Malformed("endValue is below startValue")
	}
	return uint64(end) - uint64(start), nil
}

// readSamples reads stacks and their weights.
func (r *reader) readSamples(profile *profilebuilder.Profile, of unit, h *header) error {
	if h.sampleCount != h.weightCount {
		return profilebuilder.Malformed("there are %d samples and %d weights", h.sampleCount, h.weightCount)
	}
	r.At, r.weights = h.weights, profilebuilder.Grow(r.Builder, r.weights[:0], h.weightCount)
	if err := r.Err(); err != nil {
		return err
	}
	err := r.Array(func() error {
		weight, err := r.ReadValue(of.factor, of.whole)
		if err == nil && weight < 0 {
			err = profilebuilder.Malformed("weight %d is below 0", len(r.weights))
		}
		r.weights = append(r.weights, weight)
		return err
	})
	if err != nil {
		return err
	}
	r.At = h.samples
	number, item := 0, r.readStackItem
	return r.Array(func() error {
		r.stack = r.stack[:0]
		if err := r.Array(item); err != nil {
			return fmt.Errorf("sample %d: %w", number, err)
		}
		profile.Add(r.Stack(r.stack, true), nil, r.weights[number])
		if r.Err() != nil {
			r.AddPosition("sample %d", number)
		}
		number++
		return r.Err()
	})
}

func (r *reader) readStackItem() error {
	frame, err := r.index()
	if err != nil {
		return err
	}
	location, err := r.location(frame)
	if err == nil && r.CheckDepth(len(r.stack)+1) {
		r.stack = profilebuilder.Append(r.Builder, r.stack, location)
	}
	if err == nil {
		err = r.Err()
	}
	return err
}

// index reads the index of a frame.
func (r *reader) index() (int, error) {
	value, err := r.ReadValue(1, true)
	if err == nil && (value < 0 || value >= int64(len(r.frames))) {
		err = profilebuilder.Malformed("byte %d: frame %d does not exist, there are %d", r.At, value, len(r.frames))
	}
	return int(value), err
}

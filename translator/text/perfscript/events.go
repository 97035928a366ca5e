// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript

import (
	"bytes"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// eventProfile is the profile of one event, with the times of its first and last sample.
type eventProfile struct {
	*profilebuilder.Profile
	first, last uint64
}

// addSample adds a sample with the current attributes of the reader.
func (r *reader) addSample(h *header, stack int32) {
	if r.samples == 0 {
		r.wallClock = h.time >= profilebuilder.FirstWallClock
	}
	if r.wallClock && h.time < profilebuilder.FirstWallClock {
		r.Failf("the time %d.%09d is before the year 2000, those of earlier samples are not", h.time/1e9, h.time%1e9)
	}
	r.samples++
	p := r.profileOf(h)
	value := int64(1)
	if h.hasPeriod {
		value = h.period
	}
	if value != p.Period {
		p.Period = 0 // The samples have several.
	}
	p.first, p.last = min(p.first, h.time), max(p.last, h.time)
	p.Duration = p.last - p.first
	time := uint64(0)
	if r.wallClock {
		time = h.time
	}
	p.Add(stack, r.attributes, value, time)
}

func (r *reader) profileOf(h *header) *eventProfile {
	if p := r.byEvent[h.hasPeriod][string(h.event)]; p != nil {
		return p
	}
	r.Use(0, 2*int64(len(h.event))) // the key, and the name of the type
	if r.Err() != nil {
		return &eventProfile{Profile: r.AddProfile(profilebuilder.Profile{})}
	}
	p := &eventProfile{r.AddProfile(profilebuilder.Profile{Name: h.event, Type: typeOf(h), Period: h.period}), h.time, h.time}
	if h.hasPeriod {
		// Also if the periods differ: pprofs with and without a period type cannot be merged.
		p.PeriodType = p.Type
	}
	r.byEvent[h.hasPeriod][string(h.event)] = p
	return p
}

// typeOf returns the sample type of an event.
func typeOf(h *header) pprof.ValueType {
	if !h.hasPeriod {
		return pprof.ValueType{Type: "samples", Unit: "count"}
	}
	switch event := withoutModifiers(h.event); string(event) {
	case "cpu-clock", "task-clock":
		return pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
	default:
		return pprof.ValueType{Type: string(event), Unit: "count"}
	}
}

// withoutModifiers removes the modifiers after the colon of an event name. They say where events are counted and with
// what precision.
func withoutModifiers(event []byte) []byte {
	colon := bytes.LastIndexByte(event, ':')
	if colon <= 0 || len(bytes.Trim(event[colon+1:], "ukhIGHpPSDWebR")) > 0 {
		return event
	}
	return event[:colon]
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder

import (
	"slices"
	"unsafe"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// reservation is the memory that was asked for.
type reservation struct {
	reserve func(bytes int64) error
	// inflated is what the plain form of the payload takes, message the message without its dictionary, and working what readers
	// and profiles take.
	inflated, message, working, asked int64
}

// ask asks for so many bytes in all.
func (r *reservation) ask(total int64) error {
	if r.reserve == nil || total <= r.asked {
		return nil
	}
	r.asked = total
	return r.reserve(total)
}

// What entries take beside the dictionary's own account of them, at most, before they are added: in the Builder while its
// tables grow, and in the message.
const (
	entryBytes    = 512
	lineBytes     = 192
	frameBytes    = 16
	listItemBytes = 32
	textFactor    = 4
)

// growth is how many times its size the dictionary may take while its tables grow.
const growth = 2

// Need asks for so many bytes more than all that was added and held, before they are taken.
func (b *Builder) Need(bytes int64) {
	r := &b.reserved
	if r.reserve == nil || b.err != nil {
		return
	}
	if total := baseBytes + r.inflated + r.message + r.working + growth*b.dict.Bytes() + bytes; total > r.asked {
		// Memory is asked for in steps: entries come one by one.
		b.Fail(r.ask(total + 16<<10 + total/16))
	}
}

// Hold asks for so many bytes, which a reader uses in addition to its lists, or leaves behind as garbage.
func (b *Builder) Hold(bytes int64) { b.hold(0, bytes) }

// hold asks for so many bytes of the message, and of the memory for building it, that are used until the end.
func (b *Builder) hold(message, working int64) {
	b.Need(message + working)
	b.reserved.message += message
	b.reserved.working += working
}

// Append appends items to a list that a reader keeps. It asks for the memory before.
func Append[T any](b *Builder, list []T, items ...T) []T {
	if free := cap(list) - len(list); free < len(items) {
		if list = Grow(b, list, max(len(items), len(list), 16)); b.err != nil {
			return list
		}
	}
	return append(list, items...)
}

// Grow grows a list so that it takes so many items more. It asks for the memory before; the list stays as it is if there is none.
func Grow[T any](b *Builder, list []T, more int) []T {
	if cap(list)-len(list) >= more {
		return list
	}
	// The list is copied to a larger one, whose size is rounded up.
	b.hold(0, int64(more)*int64(unsafe.Sizeof(*new(T)))*5/2)
	if b.err != nil {
		return list
	}
	return slices.Grow(list, more)
}

// What the smallest message and its building take; what a profile takes; and what a sample, an attribute of it and an event
// take in the message, and in the tables of a profile while they grow.
const (
	baseBytes         = 8 << 10
	profileBytes      = 512
	profileTableBytes = 4 << 10

	sampleBytes         = 8 + 96 + 24 + 12
	sampleTableBytes    = 5*(8+8+8) + 48
	attributeBytes      = 4
	attributeTableBytes = 5 * 4
	eventBytes          = 16
	eventTableBytes     = 5 * 24
)

func withDefaults(l pprof.Limits) pprof.Limits {
	defaults := pprof.DefaultLimits()
	for limit, value := range map[*int]int{
		&l.InflatedBytes: defaults.InflatedBytes, &l.SampleTypes: defaults.SampleTypes, &l.Samples: defaults.Samples,
		&l.LocationsPerSample: defaults.LocationsPerSample, &l.StringBytes: defaults.StringBytes,
		&l.LinesPerLocation: defaults.LinesPerLocation, &l.Mappings: defaults.Mappings, &l.Locations: defaults.Locations,
		&l.Lines: defaults.Lines, &l.Functions: defaults.Functions, &l.Strings: defaults.Strings,
	} {
		if *limit <= 0 {
			*limit = value
		}
	}
	return l
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/translator/jfr/internal/outline"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Limits bound what one recording may cost. Each is checked before the memory that it bounds is allocated. Zero or less means
// the default of [DefaultLimits].
type Limits struct {
	// InflatedBytes is the size of the recording after all of its compression, and that of the labels. The text of functions
	// and attributes has the same limit.
	InflatedBytes int
	// Samples is the number of values in all profiles: an allocation makes two, a count and bytes.
	Samples int
	// LocationsPerSample is the depth of one stack.
	LocationsPerSample int
	// StringBytes is the length of one string.
	StringBytes int
	// Strings and Functions are the numbers of strings and methods in the recording.
	Strings   int
	Functions int
}

// DefaultLimits are those of [pprof.DefaultLimits].
func DefaultLimits() Limits {
	d := pprof.DefaultLimits()
	return Limits{
		InflatedBytes:      d.InflatedBytes,
		Samples:            d.Samples,
		LocationsPerSample: d.LocationsPerSample,
		StringBytes:        d.StringBytes,
		Strings:            d.Strings,
		Functions:          d.Functions,
	}
}

func (l Limits) outline(reserve func(bytes int64) error) outline.Limits {
	return outline.Limits{
		Events:         l.Samples,
		FramesPerStack: l.LocationsPerSample,
		StringBytes:    l.StringBytes,
		Strings:        l.Strings,
		Methods:        l.Functions,
		Reserve:        reserve,
	}
}

// Options configure a [Decoder]. The zero value is the default.
type Options struct {
	Limits Limits
	// LinkLabels name the labels that become links. Nil means [pprof.DefaultLinkLabels]; an empty slice that is not nil makes
	// no links of labels.
	LinkLabels []pprof.LinkLabels
}

// Source is what the transport knows about a recording.
type Source struct {
	// Resource is copied to the resource of the result. The zero Map means none.
	Resource pcommon.Map
	// ScopeName and ScopeVersion become the instrumentation scope.
	ScopeName    string
	ScopeVersion string
	// Labels is the labels snapshot of Pyroscope's agents, plain, in gzip or in zstd, or empty.
	Labels []byte
	// Period is the time between two execution samples, for recordings that do not tell it. 0 means that it is not known.
	Period time.Duration
	// Reserve, when set, is called before memory is allocated, with all bytes that the translation then uses. The number
	// never falls. An error ends the translation and is returned as it is.
	Reserve func(bytes int64) error
}

// Stats tell what was read and what was repaired.
type Stats struct {
	// InflatedBytes is the size of the recording after decompression.
	InflatedBytes int
	// MessageBytes is about what the message takes in memory.
	MessageBytes int64
	// Events is the number of events that became values, Samples that of the samples made of them.
	Events, Samples int
	// Repairs counts what was tolerated, by kind.
	Repairs Repairs
}

// Repairs counts what a [Decoder] tolerated in a recording.
type Repairs struct {
	// InvalidUTF8 counts texts whose invalid bytes were replaced by U+FFFD.
	InvalidUTF8 int
	// NoStack counts events whose stack is not in the recording. They have an empty stack.
	NoStack int
	// NoMethod counts frames whose method is not in the recording.
	NoMethod int
	// InvalidTimes counts events with a time before 1970 or after 2262. They have the time at which their chunk begins.
	InvalidTimes int
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Options configure a [Decoder]. The zero value is the default.
type Options struct {
	// Limits limit the cost of one recording: InflatedBytes, Samples (of values: an allocation has two, a count and bytes) and
	// LocationsPerSample. InflatedBytes is also for the labels, and for the text of functions and attributes. Zero or less means the
	// default of [pprof.DefaultLimits]. A string has at most [pprof.MaxStringBytes].
	Limits pprof.Limits
	// LinkLabels are the names of labels that become links. Nil means [pprof.DefaultLinkLabels]. With an empty slice that is not nil,
	// no label becomes a link.
	LinkLabels []pprof.LinkLabels
	// KeepGeneratedNames keeps the addresses and counters in the names of classes that the JVM generates, such as lambdas and proxies.
	// By default they are removed, as in Pyroscope: the names then are the same in each process.
	KeepGeneratedNames bool
	// IncludeOriginalPayload copies the payload, as it was passed to Decode, into each profile.
	IncludeOriginalPayload bool
}

// Source has what a caller knows about a recording.
type Source struct {
	// Resource is copied to the resource of the result. The zero Map means none.
	Resource pcommon.Map
	// ScopeName and ScopeVersion become the instrumentation scope.
	ScopeName    string
	ScopeVersion string
	// Labels is the labels snapshot of Pyroscope's agents, plain or compressed with gzip or zstd. It can be empty.
	Labels []byte
	// Period is the time between two execution samples. It is for recordings that do not have it. 0 means unknown.
	Period time.Duration
	// Reserve reserves memory. The decoder calls it before it allocates, with the total number of bytes of the translation,
	// including the result. The number never falls. Decode returns its error unchanged. If Reserve is nil, the memory has no limit
	// other than Limits.
	Reserve func(bytes int64) error
}

// Stats describe a translation.
type Stats struct {
	// InflatedBytes is the size of the recording after decompression: of its largest layer, if compression is nested. If
	// decompression failed, it is the size up to the failure.
	InflatedBytes int
	// MessageBytes estimates the memory of the result in bytes.
	MessageBytes int64
	// Events is the number of events that became values, Samples the number of samples in all profiles.
	Events, Samples int
	// Skipped counts the events that no profile has, by their type in the order of the names. Events that only describe others, such
	// as settings, are not among them.
	Skipped []SkippedEvents
	// Repairs counts the faults that the decoder repaired, by kind.
	Repairs Repairs
}

// SkippedEvents counts the events of a type of which there is no profile.
type SkippedEvents struct {
	Type   string
	Events int
}

// Repairs counts the faults of a recording that a [Decoder] repaired.
type Repairs struct {
	// InvalidUTF8 counts texts in which U+FFFD replaced invalid bytes.
	InvalidUTF8 int
	// NoStack counts events whose stack is neither in their chunk nor in the one before. They have an empty stack.
	NoStack int
	// NoMethod counts frames whose method is not in the recording. Their function is "[unknown]".
	NoMethod int
	// InvalidTimes counts events with a time before 1970 or after 2262. They have the time at which their chunk begins.
	InvalidTimes int
}

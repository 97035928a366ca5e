// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"time"

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

// Source has what a caller knows about a recording. Its ProfileName and SampleTypes are ignored: the recording has them.
type Source struct {
	pprof.Source
	// Labels is the labels snapshot of Pyroscope's agents, plain or compressed with gzip or zstd. It can be empty.
	Labels []byte
	// Period is the time between two execution samples. It is for recordings that do not have it. 0 means unknown.
	Period time.Duration
}

// Stats describe a translation. Samples counts the events of the types of which there are profiles. Samples of threads that sleep are in no
// profile of CPU time.
type Stats struct {
	pprof.DecodeStats
	// Skipped counts the events of all other types, in the order of their names. Events that only describe others, such as settings, are
	// not among them.
	Skipped []SkippedEvents
}

// SkippedEvents counts the events of a type of which there is no profile.
type SkippedEvents struct {
	Type   string
	Events int
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package jfr translates recordings of JDK Flight Recorder, which the JDK, async-profiler and the agents of Pyroscope and Datadog
// write, to OTLP profiles.
//
// A [Decoder] makes a profile for each kind of event and each value of that: CPU time, wall-clock time, allocations, live objects,
// waiting for locks, native memory. The profiles have the same names as in Pyroscope. Each event keeps its time. Events with the same
// stack, thread, labels and span become one sample. A Decoder first finds the constants of a recording, counts its events and reads their
// settings. Then it knows the memory that they need, and translates them. It is safe for concurrent use.
package jfr // import "github.com/otelpprof/otelpprof/translator/jfr"

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/translator/internal/limits"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Decoder translates recordings to OTLP profiles. It is safe for concurrent use.
type Decoder struct {
	opts   Options
	memory scratch.Keeper[decoding]
}

// NewDecoder returns a Decoder with these options.
func NewDecoder(opts Options) *Decoder {
	opts.Limits = limits.WithDefaults(opts.Limits, pprof.DefaultLimits())
	if opts.LinkLabels == nil {
		opts.LinkLabels = pprof.DefaultLinkLabels()
	}
	return &Decoder{opts: opts}
}

// Decode translates one recording. The payload can be plain or compressed with gzip or zstd, also several times. The result has one
// resource, one scope, and a profile for each kind of event and value that occurs. It shares no memory with payload. Equal recordings
// with equal sources get equal profile ids.
//
// The error wraps [ErrMalformed] or [ErrTooLarge], or is that of the source. With an error, the profiles are empty, and the statistics
// have only InflatedBytes.
func (d *Decoder) Decode(payload []byte, src Source) (pprofile.Profiles, Stats, error) {
	t := d.memory.Get()
	if t == nil {
		t = &decoding{dict: dictionary.New()}
	}
	t.begin(&d.opts, src)
	profiles, err := t.decode(payload)
	stats := t.stats
	d.memory.Put(t, t.release())
	if err != nil {
		return pprofile.Profiles{}, Stats{DecodeStats: pprof.DecodeStats{InflatedBytes: stats.InflatedBytes}}, err
	}
	return profiles, stats, nil
}

func (t *decoding) decode(payload []byte) (pprofile.Profiles, error) {
	data, size, err := t.inflate(&t.inflated, payload, "recording")
	t.stats.InflatedBytes = size
	if err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.readLabels(); err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.readChunks(data); err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.survey(); err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.readEvents(); err != nil {
		return pprofile.Profiles{}, err
	}
	return t.write(payload)
}

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

// The classes of errors of [Decoder.Decode], for errors.Is. Both are permanent: the same recording never succeeds.
var (
	// ErrMalformed says that the recording violates the format.
	ErrMalformed = errors.New("malformed JFR recording")
	// ErrTooLarge says that the recording exceeds a limit.
	ErrTooLarge = errors.New("JFR recording exceeds a limit")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

func tooLarge(what string, got, limit int) error {
	return fmt.Errorf("%w: %s: %d, the limit is %d", ErrTooLarge, what, got, limit)
}

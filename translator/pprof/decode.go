// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"bytes"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// ValueType names a sample type and its unit, such as cpu and nanoseconds.
type ValueType struct {
	Type string
	Unit string
}

// Source says what the transport knows of a payload.
type Source struct {
	// Resource is copied to the resource of the result. The zero Map means none.
	Resource pcommon.Map
	// ScopeName and ScopeVersion become the instrumentation scope.
	ScopeName    string
	ScopeVersion string
	// ProfileName becomes the profile attribute profile.name, when set: the name that the client shows.
	ProfileName string
	// SampleTypes stand in for those of a payload that names none.
	SampleTypes []ValueType
	// Reserve, when set, is asked before memory is taken for the payload, with all bytes that it then takes: its form after
	// decompression, the tables of the translation, and the message. The number never falls. An error ends the
	// translation and is returned as it is.
	Reserve func(bytes int64) error
}

// DecodeStats tell what was read and what was repaired on the way.
type DecodeStats struct {
	// InflatedBytes is the size of the pprof after decompression. Where that failed, it is about the size up to there.
	InflatedBytes int
	// MessageBytes is about what the message takes in memory. It is more than its size on the wire.
	MessageBytes int64
	// Samples is the number of samples of the pprof, OTLPSamples that of the samples made.
	Samples     int
	OTLPSamples int
	// Repairs counts what was tolerated, by kind.
	Repairs Repairs
}

// Repairs counts what a [Decoder] tolerated in a payload. None of it is an error; all of it is unusual.
type Repairs struct {
	// UnknownFields were skipped.
	UnknownFields int
	// InvalidUTF8 counts strings whose invalid bytes were replaced by U+FFFD.
	InvalidUTF8 int
	// NoSampleType counts payloads without any sample type, NoValues samples without any value: they get 0.
	NoSampleType int
	NoValues     int
	// RepeatedEntries counts functions, locations and mappings that are given twice with equal content.
	RepeatedEntries int
	// UnknownMappings counts locations in a mapping that does not exist: they get none.
	UnknownMappings int
	// NoFunction counts lines without a function.
	NoFunction int
	// NegativeTimes counts times and durations below zero: they become 0.
	NegativeTimes int
	// FirstString counts payloads whose string table does not begin with the empty string.
	FirstString int
}

// Decoder translates pprof payloads to OTLP profiles. Safe for concurrent use.
type Decoder struct {
	opts   DecodeOptions
	memory scratch.Keeper[decoding]
}

// NewDecoder returns a Decoder with these options.
func NewDecoder(opts DecodeOptions) *Decoder {
	opts.Limits = opts.Limits.withDefaults()
	if opts.LinkLabels == nil {
		opts.LinkLabels = DefaultLinkLabels()
	}
	return &Decoder{opts: opts}
}

// Decode translates one payload: profile.proto bytes, plain, in gzip or in zstd, nested too. The result has one
// resource, one scope and one profile per sample type, the default sample type first, and shares no memory with payload.
// Equal payloads of equal sources have equal profile ids.
//
// The error is ErrMalformed, ErrTooLarge, ErrNotPprof or ErrRecording, see errors.Is; the result is then empty but for InflatedBytes.
func (d *Decoder) Decode(payload []byte, src Source) (pprofile.Profiles, DecodeStats, error) {
	t := d.memory.Get()
	if t == nil {
		t = &decoding{}
	}
	pd, stats, err := d.decode(t, payload, src)
	d.memory.Put(t, t.release())
	return pd, stats, err
}

func (d *Decoder) decode(t *decoding, payload []byte, src Source) (pprofile.Profiles, DecodeStats, error) {
	t.begin(&d.opts, src)
	raw, err := t.inflate(payload)
	if err != nil {
		return pprofile.Profiles{}, DecodeStats{InflatedBytes: int(min(t.reserved.inflated, int64(d.opts.Limits.InflatedBytes)))}, err
	}
	limits := d.opts.Limits.wire()
	if src.Reserve != nil {
		limits.Reserve = func(bytes int64) error { return t.reserved.ask(t.reserved.inflated + bytes) }
	}
	if err := t.wire.Read(raw, limits); err != nil {
		switch {
		case IsLegacy(raw):
			err = ErrNotPprof
		case bytes.HasPrefix(raw, []byte(recordingMagic)):
			err = ErrRecording
		}
		return pprofile.Profiles{}, DecodeStats{InflatedBytes: len(raw)}, err
	}
	pd, err := t.translate(payload)
	t.stats.InflatedBytes = len(raw)
	return pd, t.stats, err
}

// recordingMagic is what a JFR recording begins with. No pprof begins so: the first byte has a wire type that does not exist.
const recordingMagic = "FLR\x00"

// inflate returns the plain form of the payload.
func (t *decoding) inflate(payload []byte) ([]byte, error) {
	limit := t.opts.Limits.InflatedBytes
	if inflate.Plain(payload) {
		if len(payload) > limit {
			return nil, pprofwire.TooLarge("bytes of the payload", len(payload), limit)
		}
		return payload, nil
	}
	var err error
	t.inflated, err = inflate.AppendReserving(t.inflated[:0], payload, limit, func(bytes int) error {
		t.reserved.inflated = max(t.reserved.inflated, int64(bytes))
		return t.reserved.ask(t.reserved.inflated)
	})
	if err != nil && t.reserved.err == nil {
		err = inflateError(err)
	}
	return t.inflated, err
}

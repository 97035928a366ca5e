// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/limits"
)

// The classes of errors that [Decoder.Decode] and [Encoder.All] return. Test for them with errors.Is. All except
// ErrNotReserved are permanent.
var (
	// ErrMalformed reports that the payload violates the format. The text names the field and the invalid number.
	ErrMalformed = pprofwire.ErrMalformed
	// ErrTooLarge reports that a limit is exceeded. The text names the limit, its value and the number that exceeds it.
	ErrTooLarge = pprofwire.ErrTooLarge
	// ErrNotReserved reports that memory for a message could not be reserved. Only [Encoder.AllReserving] returns it. It
	// is the only class that is retryable.
	ErrNotReserved = errors.New("memory not reserved")
	// ErrNotPprof reports that the payload has another format: one of the older text or binary formats of profiles.
	ErrNotPprof = errors.New("not a pprof in profile.proto form")
	// ErrRecording reports that the payload is a recording of JDK Flight Recorder, which translator/jfr decodes.
	ErrRecording = errors.New("not a pprof but a JFR recording")
)

// ValueType is a sample type or period type: a name and a unit, such as cpu and nanoseconds.
type ValueType struct {
	Type string
	Unit string
}

// Source describes the source of a payload, as far as the transport knows it.
type Source struct {
	// Resource is copied to the resource of the result. The zero Map means no attributes.
	Resource pcommon.Map
	// ScopeName and ScopeVersion become the instrumentation scope.
	ScopeName    string
	ScopeVersion string
	// ProfileName, if set, becomes the profile attribute profile.name: the name that the client displays.
	ProfileName string
	// SampleTypes are used if the payload has no sample types.
	SampleTypes []ValueType
	// Reserve, if set, is called before memory is allocated for the payload. bytes is the total that the payload then
	// uses: its decompressed form, the tables of the translation, and the message. The total never decreases. Translators of texts and
	// JSON also call it while they work, with the same total, so that the caller can end the translation. An error stops the
	// translation and is returned unchanged.
	Reserve func(bytes int64) error
}

// DecodeStats describe a payload, its translation and its repairs.
type DecodeStats struct {
	// InflatedBytes is the decompressed size of the payload: of its largest layer, if compression is nested. If decompression
	// failed, it is the size up to the failure.
	InflatedBytes int
	// MessageBytes is the approximate size of the message in memory. It is larger than the marshalled message.
	MessageBytes int64
	// Samples counts the samples of the pprof, OTLPSamples the samples of the message.
	Samples     int
	OTLPSamples int
	// Repairs counts the faults that were repaired, by kind.
	Repairs Repairs
	// Begin has the first bytes, at most [BeginBytes], of a decompressed payload that cannot be read as a pprof.
	Begin []byte
}

// BeginBytes is the maximum length of [DecodeStats.Begin].
const BeginBytes = 16 << 10

// Repairs counts faults in a payload that a [Decoder] repairs or ignores instead of returning an error.
type Repairs struct {
	// UnknownFields counts fields that were skipped.
	UnknownFields int
	// InvalidUTF8 counts strings whose invalid bytes were replaced by U+FFFD.
	InvalidUTF8 int
	// NoSampleType counts payloads without sample types. NoValues counts samples without values; their values are 0.
	NoSampleType int
	NoValues     int
	// RepeatedEntries counts functions, locations and mappings that occur twice with equal content.
	RepeatedEntries int
	// UnknownMappings counts locations whose mapping does not exist; they get none.
	UnknownMappings int
	// NoFunction counts lines without a function, and frames of a recording without a method.
	NoFunction int
	// NegativeTimes counts negative times and durations; they become 0.
	NegativeTimes int
	// FirstString counts payloads whose string table does not begin with the empty string.
	FirstString int
	// NoStack counts events whose stack is neither in their part of a recording nor in the one before. They have an empty stack.
	NoStack int
	// InvalidTimes counts events whose time cannot be their timestamp. A label with such a time stays a label, see
	// [DecodeOptions.TimestampLabels]. An event of a recording has the time at which its chunk begins.
	InvalidTimes int
}

// Decoder translates pprof payloads to OTLP profiles. It is safe for concurrent use.
type Decoder struct {
	opts   DecodeOptions
	memory scratch.Keeper[decoding]
}

// NewDecoder returns a Decoder with these options.
func NewDecoder(opts DecodeOptions) *Decoder {
	opts.Limits = limits.WithDefaults(opts.Limits, DefaultLimits())
	if opts.LinkLabels == nil {
		opts.LinkLabels = DefaultLinkLabels()
	}
	opts.TimestampLabels = slices.Clone(opts.TimestampLabels)
	for i := range opts.TimestampLabels {
		if l := &opts.TimestampLabels[i]; l.Unit <= 0 {
			l.Unit = time.Nanosecond
		}
	}
	return &Decoder{opts: opts}
}

// Decode translates one payload: profile.proto, plain or in gzip or zstd, also nested. The result has one resource, one
// scope and one profile for each sample type; the default sample type comes first. It shares no memory with payload.
// Equal payloads with equal sources get equal profile ids.
//
// The error is [ErrMalformed], [ErrTooLarge], [ErrNotPprof], [ErrRecording], or that of the source. Then the profiles are the zero value,
// which must not be used, and the statistics have only InflatedBytes and Begin.
func (d *Decoder) Decode(payload []byte, src Source) (pprofile.Profiles, DecodeStats, error) {
	t := d.memory.GetOrNew()
	pd, stats, err := d.decode(t, payload, src)
	d.memory.Put(t, t.release()) // Not after a panic.
	return pd, stats, err
}

func (d *Decoder) decode(t *decoding, payload []byte, src Source) (pprofile.Profiles, DecodeStats, error) {
	t.opts, t.src, t.stats, t.meter = &d.opts, src, DecodeStats{}, *meter.New(0, src.Reserve)
	t.samplesBytes, t.message, t.textBytes = 0, 0, 0
	if t.dict == nil {
		t.dict = dictionary.New()
	}
	raw, size, err := inflatePayload.Open(&t.inflated, payload, t.opts.Limits.InflatedBytes, &t.meter)
	if err != nil {
		return pprofile.Profiles{}, DecodeStats{InflatedBytes: size}, err
	}
	limits := d.opts.Limits.wire()
	limits.Memory = &t.meter
	if err := t.wire.Read(raw, limits); err != nil {
		switch {
		case isLegacy(raw):
			err = ErrNotPprof
		case bytes.HasPrefix(raw, []byte(recordingMagic)):
			err = ErrRecording
		}
		stats := DecodeStats{InflatedBytes: size}
		if t.meter.Err() == nil {
			stats.Begin = bytes.Clone(raw[:min(len(raw), BeginBytes)])
		}
		return pprofile.Profiles{}, stats, err
	}
	pd, err := t.translate(payload)
	if err != nil {
		return pprofile.Profiles{}, DecodeStats{InflatedBytes: size}, err
	}
	t.stats.InflatedBytes = size
	return pd, t.stats, nil
}

// inflatePayload decompresses payloads.
var inflatePayload = inflate.Payload{Name: "payload", Malformed: ErrMalformed, TooLarge: ErrTooLarge}

// recordingMagic begins every JFR recording. No pprof begins with it: the wire type of the first byte does not exist.
const recordingMagic = "FLR\x00"

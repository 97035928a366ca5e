// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"time"

	"github.com/otelpprof/otelpprof/internal/dictionary/spanlink"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// Limits limits one payload. Each limit is checked before the memory is allocated. A value of 0 or less means the default
// of [DefaultLimits]. A payload also has at most [MaxSampleTypes] sample types, [MaxLinesPerLocation] lines in a location, and strings
// of at most [MaxStringBytes].
//
// InflatedBytes limits the number of all other entries, since each has at least one byte. A pprof needs at most 128 times as much
// memory as its decompressed form, a payload of another format 384 times. [DecodeOptions.IncludeOriginalPayload] adds a copy of the
// payload for each sample type. A caller that needs a lower bound sets [Source.Reserve].
type Limits struct {
	// InflatedBytes is the size of the decompressed payload, of each layer if compression is nested. The text of the
	// attributes for labels, mappings and comments has the same limit, even if they repeat the same strings.
	InflatedBytes int
	// Samples is the number of OTLP samples: a pprof sample counts once for each sample type for which it has a value.
	Samples int
	// LocationsPerSample is the depth of one stack: the number of its locations.
	LocationsPerSample int
	// LabelsPerSample is the number of labels of one sample.
	LabelsPerSample int
}

const (
	// MaxSampleTypes limits the sample types of a payload. Each becomes an OTLP profile.
	MaxSampleTypes = 256
	// MaxLinesPerLocation limits the inlined functions of one location. Each sample that refers to the location has all of them.
	MaxLinesPerLocation = pprofwire.MaxLinesPerLocation
	// MaxStringBytes limits the length of one string. It is below 4 MB, the limit of gRPC servers for a message.
	MaxStringBytes = 1 << 20
)

// DefaultLimits returns limits that are above the payloads of all known profilers, and low enough for hostile payloads.
func DefaultLimits() Limits {
	return Limits{
		InflatedBytes:      64 << 20,
		Samples:            1_000_000,
		LocationsPerSample: 16_384,
		LabelsPerSample:    1_024,
	}
}

func (l Limits) wire() pprofwire.Limits {
	return pprofwire.Limits{
		Samples:            l.Samples,
		SampleTypes:        MaxSampleTypes,
		LocationsPerSample: l.LocationsPerSample,
		LinesPerLocation:   MaxLinesPerLocation,
		LabelsPerSample:    l.LabelsPerSample,
		StringBytes:        MaxStringBytes,
	}
}

// LinkLabels are the names of the two labels that link a sample to a span, Trace and Span. Span can be empty: then the
// trace alone makes the link. Decimal means that ids are decimal numbers; a trace id with 32 digits is always hex. An Encoder ignores
// Decimal: it writes hex.
type LinkLabels = spanlink.Labels

// DefaultLinkLabels returns the labels of Splunk and the Grafana SDKs, of Datadog, and of Polar Signals, in this order.
func DefaultLinkLabels() []LinkLabels { return spanlink.DefaultLabels() }

// TimestampLabel is a numeric label with the time of an event since 1970.
type TimestampLabel struct {
	Label string
	// Unit is the unit of the number. 0 or less means nanoseconds.
	Unit time.Duration
}

// EncoderTimestampLabel returns the label that an [Encoder] writes with [EncodeOptions.TimestampLabels].
func EncoderTimestampLabel() TimestampLabel { return TimestampLabel{timestampLabel, time.Nanosecond} }

// DecodeOptions configure a [Decoder]. The zero value is the default.
type DecodeOptions struct {
	Limits Limits
	// LinkLabels are tried in order. The first pair that is found makes the link. Nil means [DefaultLinkLabels]; an empty
	// slice means that labels make no links.
	LinkLabels []LinkLabels
	// KeepThreadLabels keeps the labels "thread id" (a number) and "thread name" of Datadog's profilers. By default they
	// become the attributes thread.id and thread.name, and an Encoder restores the labels.
	KeepThreadLabels bool
	// TimestampLabels become timestamps of samples. The first label counts that a sample has exactly once and that is
	// above 0. Samples that then differ in nothing else become one, with their values in the order of time, after the samples
	// without a timestamp. The time range of the profiles is extended to all timestamps, by at most ten minutes on each side; a
	// label with a time farther away stays a label. A payload without a time begins at the first of its timestamps.
	TimestampLabels []TimestampLabel
	// KeepZeroValues keeps the zero values of payloads with several sample types, so that all profiles of a payload have
	// the same number of samples. By default a zero is left out if the sample has another value.
	KeepZeroValues bool
	// KeepUnreferencedMappings keeps mappings that no sample refers to.
	KeepUnreferencedMappings bool
	// IncludeOriginalPayload copies the payload, as it was passed to Decode, into each profile.
	IncludeOriginalPayload bool
}

// DefaultPprofBytes is the default of [EncodeOptions.PprofBytes].
const DefaultPprofBytes = 64 << 20

// EncodeOptions configure an [Encoder]. The zero value is the default.
type EncodeOptions struct {
	// PprofBytes limits the total size of the pprofs of one message, before compression. A small message can expand to
	// large pprofs: a stack is stored once in the message, but in every sample of a pprof, and a string once in the
	// message, but in each pprof. A pprof that would exceed the limit is refused before it is written. If the pprofs of a
	// resource would exceed it together, all of them are refused before the first is written. The values of a pprof have the
	// same limit, with 8 bytes each. Once more than twice the limit was spent on what is refused, all other profiles of the
	// message are refused; this work counts twice if three quarters of the limit are written. A value of 0 or less means DefaultPprofBytes.
	PprofBytes int
	// TimestampLabels writes one sample for each timestamp, with the numeric label "timestamp" in nanoseconds. By default
	// the values of a sample are summed, and its timestamps are lost.
	TimestampLabels bool
	// LinkLabels are the names of the labels for a link. The zero value means trace_id and span_id.
	LinkLabels LinkLabels
	// AllLinkLabels writes the labels of every link, so that samples can be searched by them. By default they are left out for
	// a sample whose attributes have the ids of its link under other names, or in another form: from these attributes, a
	// decoder makes the link again.
	AllLinkLabels bool
	// ResourceComments writes the attributes of the resource as comments "resource:key=value".
	ResourceComments bool
	// PreferOriginalPayload returns original_payload, decompressed, if it is a pprof, instead of encoding the profile.
	PreferOriginalPayload bool
}

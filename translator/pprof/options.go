// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"time"

	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// Limits bound what one payload may cost. Each is checked before the memory that it bounds is taken. Zero or less
// means the default of [DefaultLimits].
type Limits struct {
	// InflatedBytes is the size of the payload after all of its compression, nested compression included. The text of
	// attributes that labels, mappings and comments make of the strings has the same bound, however often they repeat them.
	InflatedBytes int
	// SampleTypes is the number of sample types, that is of OTLP profiles.
	SampleTypes int
	// Samples is the number of OTLP samples made: a pprof sample counts once per sample type that carries a value.
	Samples int
	// LocationsPerSample is the depth of one stack.
	LocationsPerSample int
	// LabelsPerSample is the number of labels on one sample.
	LabelsPerSample int
	// StringBytes is the length of one string of the string table.
	StringBytes int
	// LinesPerLocation is the number of lines of one location.
	LinesPerLocation int
	// Labels, Mappings, Locations, Lines, Functions, Strings and Comments are the numbers of entries of the pprof.
	Labels    int
	Mappings  int
	Locations int
	Lines     int
	Functions int
	Strings   int
	Comments  int
}

// DefaultLimits are generous for every known profiler and bound a hostile payload.
func DefaultLimits() Limits {
	return Limits{
		InflatedBytes:      64 << 20,
		SampleTypes:        256,
		Samples:            1_000_000,
		LocationsPerSample: 16_384,
		LabelsPerSample:    1_024,
		StringBytes:        1 << 20, // below the 4 MB of a message that servers of gRPC take
		LinesPerLocation:   4_096,
		Labels:             4_000_000,
		Mappings:           65_536,
		Locations:          1_000_000,
		Lines:              4_000_000,
		Functions:          1_000_000,
		Strings:            2_000_000,
		Comments:           10_000,
	}
}

func (l Limits) withDefaults() Limits {
	defaults := DefaultLimits()
	set := func(limit *int, value int) {
		if *limit <= 0 {
			*limit = value
		}
	}
	set(&l.InflatedBytes, defaults.InflatedBytes)
	set(&l.SampleTypes, defaults.SampleTypes)
	set(&l.Samples, defaults.Samples)
	set(&l.LocationsPerSample, defaults.LocationsPerSample)
	set(&l.LabelsPerSample, defaults.LabelsPerSample)
	set(&l.StringBytes, defaults.StringBytes)
	set(&l.LinesPerLocation, defaults.LinesPerLocation)
	set(&l.Labels, defaults.Labels)
	set(&l.Mappings, defaults.Mappings)
	set(&l.Locations, defaults.Locations)
	set(&l.Lines, defaults.Lines)
	set(&l.Functions, defaults.Functions)
	set(&l.Strings, defaults.Strings)
	set(&l.Comments, defaults.Comments)
	return l
}

func (l Limits) wire() pprofwire.Limits {
	return pprofwire.Limits{
		Samples:            l.Samples,
		SampleTypes:        l.SampleTypes,
		LocationsPerSample: l.LocationsPerSample,
		LabelsPerSample:    l.LabelsPerSample,
		StringBytes:        l.StringBytes,
		LinesPerLocation:   l.LinesPerLocation,
		Labels:             l.Labels,
		Mappings:           l.Mappings,
		Locations:          l.Locations,
		Lines:              l.Lines,
		Functions:          l.Functions,
		Strings:            l.Strings,
		Comments:           l.Comments,
	}
}

// LinkLabels names the two labels that tie a sample to a span. Span may be empty: the trace alone makes the link.
type LinkLabels struct {
	Trace string
	Span  string
	// Decimal says that ids are decimal numbers, unless a trace id has 32 digits: then it is hex.
	Decimal bool
}

// defaultLinkNames are the labels that a link becomes, and those whose canonical form needs no attribute beside the link.
var defaultLinkNames = LinkLabels{Trace: "trace_id", Span: "span_id"}

// DefaultLinkLabels are those of Splunk and the Grafana SDKs, of Datadog, and of Polar Signals, in this order.
func DefaultLinkLabels() []LinkLabels {
	return []LinkLabels{
		defaultLinkNames,
		{Trace: "trace id", Span: "span id", Decimal: true},
		{Trace: "otel.traceid"},
	}
}

// TimestampLabel names a label with a number that is the time of an event.
type TimestampLabel struct {
	Label string
	// Unit is how long 1 is.
	Unit time.Duration
}

// EncoderTimestampLabel is the label that an [Encoder] writes with [EncodeOptions.TimestampLabels].
func EncoderTimestampLabel() TimestampLabel { return TimestampLabel{timestampLabel, time.Nanosecond} }

// DecodeOptions configure a [Decoder]. The zero value is the default.
type DecodeOptions struct {
	Limits Limits
	// LinkLabels are tried in order, the first pair found makes the link. Nil means [DefaultLinkLabels]; an empty
	// slice that is not nil makes no links.
	LinkLabels []LinkLabels
	// KeepThreadLabels leaves the labels "thread id", a number, and "thread name" of Datadog's profilers as they are. Without it
	// they become the attributes thread.id and thread.name, and an Encoder makes labels of the old names of them.
	KeepThreadLabels bool
	// TimestampLabels become timestamps of samples, the first one that a sample has once and that is above 0. Samples that then
	// differ in nothing else are one. The time of the profiles is widened so that it has all timestamps.
	TimestampLabels []TimestampLabel
	// KeepZeroValues carries the zero values of payloads with several sample types too, so that all profiles of a
	// payload have equally many samples. Without it a zero is left out where the sample has another value.
	KeepZeroValues bool
	// KeepUnreferencedMappings carries mappings that no sample reaches.
	KeepUnreferencedMappings bool
	// IncludeOriginalPayload copies the payload as it was given to Decode into each profile.
	IncludeOriginalPayload bool
}

// DefaultPprofBytes is the default of [EncodeOptions.PprofBytes].
const DefaultPprofBytes = 64 << 20

// EncodeOptions configure an [Encoder]. The zero value is the default.
type EncodeOptions struct {
	// PprofBytes bounds all pprofs of one message together, before compression. In a message a long stack stands once, in
	// a pprof with each of its samples, and a name once, in each pprof again, so that a small message can stand for huge
	// pprofs. A pprof that does not fit beside those before it is refused before it is written, and so is one whose values
	// alone take as much with 8 bytes each. Zero or less means DefaultPprofBytes.
	PprofBytes int
	// TimestampLabels writes one sample per timestamp, with the num label "timestamp" in nanoseconds. Without it the
	// values of a sample are summed and its timestamps left out.
	TimestampLabels bool
	// LinkLabels names the labels that a link becomes. The zero value means trace_id and span_id.
	LinkLabels LinkLabels
	// ResourceComments writes the resource's attributes as comments "resource:key=value".
	ResourceComments bool
	// PreferOriginalPayload hands on original_payload where it holds a pprof, byte for byte without its compression, instead
	// of writing the profile anew.
	PreferOriginalPayload bool
}

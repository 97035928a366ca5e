// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"math"

	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Limits bound what one record may cost, and some of them what one request may. Each is checked before the memory that
// it bounds is taken. Zero or less means the default of [DefaultLimits].
type Limits struct {
	// BodyBytes is the size of a record's body: that of a text, or what is left of a pprof after base64.
	BodyBytes int
	// InflatedBytes is the size of a pprof after all of its compression. The pprofs of one request may have four times
	// that together.
	InflatedBytes int
	// Samples is the number of samples of all records of a request: a pprof sample counts once per sample type, a text
	// record once.
	Samples int
	// FramesPerStack is the depth of one stack.
	FramesPerStack int
	// StringBytes is the length of one string of a pprof, or of one line of a text.
	StringBytes int
	// LinesPerLocation is the number of lines of one location of a pprof.
	LinesPerLocation int
	// Labels, Mappings, Locations, Lines, Functions, Strings and Comments are the numbers of entries of a pprof.
	Labels    int
	Mappings  int
	Locations int
	Lines     int
	Functions int
	Strings   int
	Comments  int
}

// requestFactor is how often a request may use up Limits.InflatedBytes.
const requestFactor = 4

// A sample has about ten labels, a payload one sample type.
const (
	maxLabelsPerSample = 1024
	maxSampleTypes     = 256
)

// DefaultLimits are generous for every known agent and bound a hostile request.
func DefaultLimits() Limits {
	entries := pprof.DefaultLimits()
	return Limits{
		BodyBytes:        16 << 20,
		InflatedBytes:    64 << 20,
		Samples:          1_000_000,
		FramesPerStack:   16_384,
		StringBytes:      64 << 10,
		Labels:           entries.Labels,
		Mappings:         entries.Mappings,
		Locations:        entries.Locations,
		Lines:            entries.Lines,
		LinesPerLocation: entries.LinesPerLocation,
		Functions:        entries.Functions,
		Strings:          entries.Strings,
		Comments:         entries.Comments,
	}
}

func (l Limits) withDefaults() Limits {
	defaults := DefaultLimits()
	set := func(limit *int, value int) {
		if *limit <= 0 {
			*limit = value
		}
		*limit = min(*limit, math.MaxInt/requestFactor) // its multiples are numbers, too
	}
	set(&l.BodyBytes, defaults.BodyBytes)
	set(&l.InflatedBytes, defaults.InflatedBytes)
	set(&l.Samples, defaults.Samples)
	set(&l.FramesPerStack, defaults.FramesPerStack)
	set(&l.StringBytes, defaults.StringBytes)
	set(&l.Labels, defaults.Labels)
	set(&l.Mappings, defaults.Mappings)
	set(&l.Locations, defaults.Locations)
	set(&l.Lines, defaults.Lines)
	set(&l.LinesPerLocation, defaults.LinesPerLocation)
	set(&l.Functions, defaults.Functions)
	set(&l.Strings, defaults.Strings)
	set(&l.Comments, defaults.Comments)
	return l
}

// wire returns the limits of the next pprof, of which samples are still allowed.
func (l Limits) wire(samples int) pprofwire.Limits {
	return pprofwire.Limits{
		Samples:            samples,
		SampleTypes:        maxSampleTypes,
		LocationsPerSample: l.FramesPerStack,
		LabelsPerSample:    maxLabelsPerSample,
		StringBytes:        l.StringBytes,
		Labels:             l.Labels,
		Mappings:           l.Mappings,
		Locations:          l.Locations,
		Lines:              l.Lines,
		LinesPerLocation:   l.LinesPerLocation,
		Functions:          l.Functions,
		Strings:            l.Strings,
		Comments:           l.Comments,
	}
}

// SampleShape says how samples of equal stack, attributes and link are written.
type SampleShape int

const (
	// Combined makes one OTLP sample of them, with as many values as timestamps, in the order of time.
	Combined SampleShape = iota
	// PerEvent makes one OTLP sample of each, with one value and one timestamp, in the order in which they came.
	PerEvent
)

// DefaultLinkLabels are the labels that every agent writes.
func DefaultLinkLabels() []pprof.LinkLabels {
	return []pprof.LinkLabels{{Trace: labelTraceID, Span: labelSpanID}}
}

// Options configure a [Decoder]. The zero value is the default.
type Options struct {
	Limits Limits
	// SampleShape says how samples are written.
	SampleShape SampleShape
	// LinkLabels name the labels that tie a sample to a span. They are tried in order, the first pair found makes the
	// link. Nil means [DefaultLinkLabels]; an empty slice that is not nil makes no links of labels. The ids of a text
	// record make a link in any case.
	LinkLabels []pprof.LinkLabels
	// OmitFrameType leaves out the attribute profile.frame.type of locations.
	OmitFrameType bool
	// JVMThreadState makes the states of Java's threads the attribute jvm.thread.state, not thread.state.
	JVMThreadState bool
	// DropEmptyStacks drops samples without any frame.
	DropEmptyStacks bool
	// IncludeOriginalPayload copies the pprof of a record, as it was behind base64, into the profiles made of it.
	IncludeOriginalPayload bool
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Limits limits one record, or the records of one request together. Each limit is checked before the memory is allocated.
// A value of 0 or less means the default of [DefaultLimits]. InflatedBytes limits the entries of a pprof, as in [pprof.Limits].
type Limits struct {
	// BodyBytes is the size of the body of a record: of a text, or of a pprof after decoding base64.
	BodyBytes int
	// InflatedBytes is the decompressed size of a pprof. The pprofs of one request together can have four times as much.
	InflatedBytes int
	// Samples is the number of samples in a request: a pprof sample counts once for each sample type, a text record
	// counts once. So does an attribute of a record for each sample type but the first.
	Samples int
	// FramesPerStack is the depth of one stack.
	FramesPerStack int
}

// requestFactor is the multiple of Limits.InflatedBytes that is the limit of a request.
const requestFactor = 4

const (
	// maxLabelsPerSample limits the labels of a sample, which usually has about ten.
	maxLabelsPerSample = 1024
	// maxStringBytes limits one string of a pprof, or one line of a text.
	maxStringBytes = 64 << 10
)

// DefaultLimits returns limits that are above the records of all known agents, and low enough for hostile requests.
func DefaultLimits() Limits {
	return Limits{
		BodyBytes:      16 << 20,
		InflatedBytes:  64 << 20,
		Samples:        1_000_000,
		FramesPerStack: 16_384,
	}
}

// wire returns the limits of the next pprof. samples is the number of samples that are left for the request.
func (l Limits) wire(samples int) pprofwire.Limits {
	return pprofwire.Limits{
		Samples:            samples,
		SampleTypes:        pprof.MaxSampleTypes,
		LocationsPerSample: l.FramesPerStack,
		LinesPerLocation:   pprof.MaxLinesPerLocation,
		LabelsPerSample:    maxLabelsPerSample,
		StringBytes:        maxStringBytes,
	}
}

// SampleShape determines how samples with equal stack, attributes and link are written.
type SampleShape int

const (
	// Combined writes one OTLP sample for them, with one value for each timestamp, in the order of time.
	Combined SampleShape = iota
	// PerEvent writes one OTLP sample for each, with one value and one timestamp, in the original order.
	PerEvent
)

// DefaultLinkLabels returns the labels that all agents write.
func DefaultLinkLabels() []pprof.LinkLabels {
	return []pprof.LinkLabels{{Trace: labelTraceID, Span: labelSpanID}}
}

// Options configure a [Decoder]. The zero value is the default.
type Options struct {
	Limits Limits
	// SampleShape determines how samples are written.
	SampleShape SampleShape
	// LinkLabels are the labels that link a sample to a span. They are tried in order; the first pair that is found makes
	// the link. Nil means [DefaultLinkLabels]; an empty slice means that labels make no links. The ids of a text record
	// make a link in any case.
	LinkLabels []pprof.LinkLabels
	// OmitFrameType leaves out the attribute profile.frame.type of locations.
	OmitFrameType bool
	// JVMThreadState writes the states of Java threads as the attribute jvm.thread.state instead of thread.state.
	JVMThreadState bool
	// KeepGeneratedNames keeps the addresses and counters in the names of classes that a JVM generates, such as lambdas and proxies, in
	// texts. By default, _ replaces them.
	KeepGeneratedNames bool
	// DropEmptyStacks drops samples without frames.
	DropEmptyStacks bool
	// IncludeOriginalPayload copies the pprof of a record, after decoding base64, into its profiles.
	IncludeOriginalPayload bool
}

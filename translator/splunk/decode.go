// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package splunk translates the log records in which Splunk's instrumentation sends profiles to OTLP profiles.
//
// A record contains either a pprof (gzip in base64) with many samples, or the text of one stack, which older agents send.
// The package reads both from all known agents and versions: Java, JavaScript, Python, .NET, and other senders with the
// same format. [Decoder] returns pprofile.Profiles with one dictionary for a whole request, and lists the records that it
// refused. The others are not affected. [RemoveProfiling] leaves only the other log records.
//
// A [Decoder] is safe for concurrent use and pools its working memory. Equal logs give equal profiles.
package splunk // import "github.com/otelpprof/otelpprof/translator/splunk"

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/limits"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Decoder translates profiling records to OTLP profiles. It is safe for concurrent use.
type Decoder struct {
	opts   Options
	memory scratch.Keeper[decoding]
}

// NewDecoder returns a Decoder with these options.
func NewDecoder(opts Options) *Decoder {
	opts.Limits = limits.WithDefaults(opts.Limits, DefaultLimits())
	if opts.LinkLabels == nil {
		opts.LinkLabels = DefaultLinkLabels()
	}
	return &Decoder{opts: opts}
}

// Decode translates the profiling records in logs, which it does not modify. A record with a pprof becomes one profile
// for each sample type, the default one first. Text records with the same resource, scope, data type, instrumentation
// source and period become one profile. Equal resources and scopes are joined. Without samples, the message is empty.
// received is the time of events if neither they nor their record have one.
//
// A record that cannot be read is refused: it is left out and listed in the result. The other records are not affected.
//
// Decode calls reserve, unless it is nil, before it allocates memory, with the total number of bytes: decoded and decompressed bodies,
// tables, and the message. It also calls it before each record, so that the caller can refuse the rest of a request that has ended.
// If reserve returns an error, the record is refused with [ReasonMemory] and that error.
func (d *Decoder) Decode(
	logs plog.Logs, received pcommon.Timestamp, reserve func(bytes int64) error,
) (pprofile.Profiles, Result) {
	t := d.memory.Get()
	if t == nil {
		t = &decoding{dict: dictionary.New()}
	}
	t.begin(&d.opts, received)
	t.memory.Meter = *meter.New(0, reserve)
	t.memory.Beside(func() int64 { return max(t.memory.body, t.memory.record) + t.dict.Bytes() })
	t.decode(logs)
	pd, result := t.profiles, t.result
	d.memory.Put(t, t.release())
	return pd, result
}

// decode translates all records. It collects text records first, since several become one profile.
func (t *decoding) decode(logs plog.Logs) {
	for i, resource := range logs.ResourceLogs().All() {
		t.resource = nil
		ofProfiling := isProfilingResource(resource)
		for j, scope := range resource.ScopeLogs().All() {
			t.scope = nil
			whole := isProfilingScope(ofProfiling, scope.Scope())
			for k, log := range scope.LogRecords().All() {
				if !whole && !isProfilingRecord(log) {
					t.result.OtherRecords++
					continue
				}
				t.enter(resource, scope)
				t.result.Records++
				refused := t.scope.refused
				if refused == nil {
					refused = t.decodeRecord(log)
				}
				if refused != nil {
					t.memory.body, t.memory.record = 0, 0 // It is not read any more.
					_ = t.memory.Use(refusalBytes)        // It is refused in any case.
					t.result.Refused = append(t.result.Refused, Refusal{i, j, k, refused.reason, refused.err})
				}
			}
		}
	}
	t.finishTexts()
	if t.profiles.ResourceProfiles().Len() > 0 {
		t.dict.WriteTo(t.profiles.Dictionary())
		if t.leftovers {
			_ = dictionary.Compact(t.profiles) // There is no error: the translator writes only indices that exist.
		}
		t.result.MessageBytes = dictionary.MessageMemory(t.profiles)
	}
}

// enter prepares the resource and scope of a record, unless they are the current ones. Without profiling records they
// cost nothing.
func (t *decoding) enter(resource plog.ResourceLogs, scope plog.ScopeLogs) {
	if t.resource == nil {
		t.enterResource(resource)
	}
	if t.scope == nil {
		t.enterScope(scope)
	}
}

func (t *decoding) decodeRecord(log plog.LogRecord) *refusal {
	t.memory.body, t.memory.record = 0, 0
	t.memory.Clear()
	if t.memory.Continue() != nil {
		return t.memoryRefusal()
	}
	if refused := checkDepth("record", log.Attributes()); refused != nil {
		return refused
	}
	if refused := t.needContainers(); refused != nil {
		return refused
	}
	t.record = readRecord(log, t)
	isPprof, refused := t.readBody()
	switch {
	case refused != nil:
		return refused
	case isPprof:
		return t.decodePprof()
	default:
		return t.decodeText()
	}
}

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

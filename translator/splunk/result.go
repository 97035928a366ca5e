// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

// Result tells what a request held and what became of it.
type Result struct {
	// Records counts the profiling records, the refused ones included, OtherRecords all other log records.
	Records, OtherRecords int
	// PprofRecords and TextRecords count the records that were taken, by form.
	PprofRecords, TextRecords int
	// EmptyRecords counts those of them that no sample was made of.
	EmptyRecords int
	// Refused tells of each record that was not taken, in the order of the request.
	Refused []Refusal
	// BodyBytes is the size of all bodies behind base64, InflatedBytes that of all pprofs behind their compression.
	BodyBytes, InflatedBytes int
	// Events counts the observations in the records that were taken, Samples the OTLP samples made of them.
	Events, Samples int
	// Repairs counts what was tolerated, by kind.
	Repairs Repairs
	// MessageBytes is about what the message takes in memory.
	MessageBytes int64
}

// Refusal tells which record of a request was refused and why.
type Refusal struct {
	// Resource, Scope and Record are the indices of the record in the request.
	Resource, Scope, Record int
	Reason                  Reason
	Err                     error
}

// Reason is the class of a refusal.
type Reason string

const (
	// ReasonBody says that the body is missing, empty, or neither text nor bytes.
	ReasonBody Reason = "body"
	// ReasonFormat says that profiling.data.format is one that is not known.
	ReasonFormat Reason = "format"
	// ReasonBase64 says that the body is no base64.
	ReasonBase64 Reason = "base64"
	// ReasonCompression says that the compressed pprof is damaged.
	ReasonCompression Reason = "compression"
	// ReasonPprof says that the pprof breaks its format.
	ReasonPprof Reason = "pprof"
	// ReasonTooLarge says that a limit was exceeded.
	ReasonTooLarge Reason = "too_large"
	// ReasonMemory says that the memory for the record was refused.
	ReasonMemory Reason = "memory"
	// ReasonTooDeep says that an attribute of the record, or of its scope or resource, is nested too deep.
	ReasonTooDeep Reason = "too_deep"
)

// Reasons returns all classes of refusals.
func Reasons() []Reason {
	return []Reason{ReasonBody, ReasonFormat, ReasonBase64, ReasonCompression, ReasonPprof, ReasonTooLarge, ReasonMemory, ReasonTooDeep}
}

// PartialSuccess returns what the partial_success of an OTLP answer says: how many log records were refused, and why the
// first one was. Without any it is 0 and "".
func (r *Result) PartialSuccess() (rejectedLogRecords int64, errorMessage string) {
	if len(r.Refused) == 0 {
		return 0, ""
	}
	return int64(len(r.Refused)), r.Refused[0].Err.Error()
}

// Repairs counts what a [Decoder] tolerated. None of it is an error.
type Repairs struct {
	// SkippedLines counts the lines of texts that are neither frames nor what a thread dump has between them.
	SkippedLines int
	// UnknownFields of pprofs were skipped.
	UnknownFields int
	// InvalidUTF8 counts texts whose invalid bytes were replaced by U+FFFD.
	InvalidUTF8 int
	// RepeatedEntries counts functions, locations and mappings that a pprof gives twice with equal content.
	RepeatedEntries int
	// UnknownMappings counts locations in a mapping that does not exist: they get none.
	UnknownMappings int
	// NoTime counts records that tell no time, nor do all of their events: those get the time of the arrival.
	NoTime int
	// RepeatedLabels counts labels whose key the sample has already: the first one counts.
	RepeatedLabels int
	// IgnoredNumbers counts times and weights that are too large or make no sense: as if they were not there.
	IgnoredNumbers int
}

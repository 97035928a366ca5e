// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// Result describes a request and its translation.
type Result struct {
	// Records counts the profiling records, including refused ones. OtherRecords counts all other log records.
	Records, OtherRecords int
	// PprofRecords and TextRecords count the accepted records by format.
	PprofRecords, TextRecords int
	// EmptyRecords counts accepted records without samples.
	EmptyRecords int
	// Refused lists the refused records in the order of the request.
	Refused []Refusal
	// BodyBytes is the size of all bodies after decoding base64. InflatedBytes is the size of all pprofs after
	// decompression.
	BodyBytes, InflatedBytes int
	// Events counts the observations in the accepted records, Samples the OTLP samples for them.
	Events, Samples int
	// Repairs counts the faults that were repaired, by kind.
	Repairs Repairs
	// MessageBytes is the approximate size of the message in memory.
	MessageBytes int64
}

// Refusal describes a refused record.
type Refusal struct {
	// Resource, Scope and Record are the indices of the record in the request.
	Resource, Scope, Record int
	Reason                  Reason
	Err                     error
}

// Reason is the reason of a refusal.
type Reason string

const (
	// ReasonBody means that the body is missing, empty, or neither a string nor bytes.
	ReasonBody Reason = "body"
	// ReasonFormat means that profiling.data.format has an unknown value.
	ReasonFormat Reason = "format"
	// ReasonBase64 means that the body is not base64.
	ReasonBase64 Reason = "base64"
	// ReasonCompression means that the compressed pprof is invalid.
	ReasonCompression Reason = "compression"
	// ReasonPprof means that the pprof violates its format.
	ReasonPprof Reason = "pprof"
	// ReasonTooLarge means that a limit is exceeded.
	ReasonTooLarge Reason = "too_large"
	// ReasonMemory means that memory for the record could not be reserved.
	ReasonMemory Reason = "memory"
	// ReasonTooDeep means that an attribute of the record, its scope or its resource is nested too deep.
	ReasonTooDeep Reason = "too_deep"
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{ReasonBody, ReasonFormat, ReasonBase64, ReasonCompression, ReasonPprof, ReasonTooLarge, ReasonMemory, ReasonTooDeep}
}

// Repairs counts faults that a [Decoder] repairs or ignores instead of refusing the record.
type Repairs struct {
	// SkippedLines counts lines of texts that are neither frames nor known lines of a thread dump.
	SkippedLines int
	// UnknownFields counts fields of pprofs that were skipped.
	UnknownFields int
	// InvalidUTF8 counts texts whose invalid bytes were replaced by U+FFFD.
	InvalidUTF8 int
	// RepeatedEntries counts functions, locations and mappings that occur twice in a pprof with equal content.
	RepeatedEntries int
	// UnknownMappings counts locations whose mapping does not exist; they get none.
	UnknownMappings int
	// NoTime counts records in which some events have no time; these get the time of arrival.
	NoTime int
	// RepeatedLabels counts labels whose key occurs earlier in the sample; the first one counts.
	RepeatedLabels int
	// IgnoredNumbers counts times and weights that are too large or invalid, and times that are far from those of the other
	// events of the record; they are ignored.
	IgnoredNumbers int
}

// refusal is the error of a record, without the position of the record.
type refusal struct {
	reason Reason
	err    error
}

func refuse(reason Reason, format string, args ...any) *refusal {
	return &refusal{reason, fmt.Errorf(format, args...)}
}

func tooLarge(what string, got, limit int) *refusal {
	return &refusal{ReasonTooLarge, pprofwire.TooLarge(what, got, limit)}
}

// checkDepth refuses attributes that are nested too deep.
func checkDepth(owner string, attributes pcommon.Map) *refusal {
	if err := attributevalue.Check(attributes); err != nil {
		return refuse(ReasonTooDeep, "%s: %w", owner, err)
	}
	return nil
}

// refusalOf returns the refusal for an error of decompression or of the pprof reader. reason is for what is not too large.
func refusalOf(reason Reason, err error) *refusal {
	if errors.Is(err, inflate.ErrTooLarge) || errors.Is(err, pprofwire.ErrTooLarge) {
		reason = ReasonTooLarge
	}
	return &refusal{reason, err}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package speedscope

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/wire/jsonscan"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// The classes of errors that [Decode] returns. Test for them with errors.Is.
var (
	// ErrMalformed reports that the payload violates the format. The text has the profile and event, or the byte offset.
	ErrMalformed = profilebuilder.ErrMalformed
	// ErrTooLarge reports that a limit is exceeded. The text names the limit, its value and the number that exceeds it.
	ErrTooLarge = profilebuilder.ErrTooLarge
)

// Options configure [Decode]. The zero value is the default.
type Options struct {
	Limits pprof.Limits
	// KeepGeneratedNames keeps the addresses and counters in the names of classes that a JVM generates, such as lambdas and proxies.
	// By default, _ replaces them.
	KeepGeneratedNames bool
	// IncludeOriginalPayload copies the payload, as it was passed to Decode, into each profile.
	IncludeOriginalPayload bool
}

// payloadFormat is the original_payload_format.
const payloadFormat = "speedscope"

// Decode translates one file: plain, in gzip or in zstd. Each profile of the file becomes a profile, with its name as
// profile.name; src.ProfileName is for profiles without a name. The result shares no memory with payload. Equal stacks of
// a profile become one sample.
//
// Values in a unit of time become nanoseconds, with the type wall. Bytes have the type space. Values without a unit are
// counts of samples. If the first of src.SampleTypes has the same unit, it replaces the type. The format has no absolute
// times.
//
// The error is ErrMalformed, ErrTooLarge, an error of decompression, or an error that src.Reserve returned.
func Decode(payload []byte, src pprof.Source, options Options) (pprofile.Profiles, pprof.DecodeStats, error) {
	shared := profilebuilder.Options{
		Limits: options.Limits, PayloadFormat: payloadFormat,
		KeepGeneratedNames: options.KeepGeneratedNames, IncludeOriginalPayload: options.IncludeOriginalPayload,
	}
	return profilebuilder.Decode(payload, src, shared, func(b *profilebuilder.Builder, plain []byte) {
		r := &reader{Builder: b, Scanner: jsonscan.Scanner{Text: plain, Malformed: ErrMalformed, Continue: b.Continue}, types: src.SampleTypes}
		b.Fail(r.readFile())
	})
}

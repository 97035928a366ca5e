// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package speedscope

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/jsonscan"
	"github.com/otelpprof/otelpprof/translator/internal/profilebuilder"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The classes of errors that [Decode] returns; test with errors.Is.
var (
	// ErrMalformed says that the payload breaks the format. The text names the profile and event, or the byte.
	ErrMalformed = profilebuilder.ErrMalformed
	// ErrTooLarge says that a limit was exceeded. The text names it.
	ErrTooLarge = profilebuilder.ErrTooLarge
)

// Options say how a payload is read. The zero value is the default.
type Options struct {
	Limits pprof.Limits
	// IncludeOriginalPayload copies the payload as it was given to Decode into each profile.
	IncludeOriginalPayload bool
}

// payloadFormat is the original_payload_format.
const payloadFormat = "speedscope"

// Decode translates one file, plain, in gzip or in zstd. Each of its profiles becomes one, with its name as profile.name; the
// name of the source is for profiles without one. The result shares no memory with payload. Equal stacks of a profile are one
// sample.
//
// Values in a unit of time become nanoseconds, of the type wall; bytes are of the type space, and those without a unit are counts
// of samples. The first of the source's sample types stands in for that if it has the same unit. The file tells no time of day.
//
// The error is ErrMalformed or ErrTooLarge, or one of inflating or of src.Reserve.
func Decode(payload []byte, src pprof.Source, options Options) (pprofile.Profiles, pprof.DecodeStats, error) {
	common := profilebuilder.Options{Limits: options.Limits}
	if options.IncludeOriginalPayload {
		common.PayloadFormat = payloadFormat
	}
	b, plain, err := profilebuilder.New(payload, src, common)
	if err != nil {
		return pprofile.Profiles{}, b.Stats(), err
	}
	r := &reader{Builder: b, Scanner: jsonscan.Scanner{Text: plain, Malformed: ErrMalformed}, types: src.SampleTypes}
	b.Fail(r.readFile())
	return b.Finish()
}

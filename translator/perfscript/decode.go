// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/internal/profilebuilder"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The classes of errors that [Decode] returns; test with errors.Is.
var (
	// ErrMalformed says that the payload breaks the format. The text names the line.
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
const payloadFormat = "perf_script"

// Decode translates the output of one perf script, plain, in gzip or in zstd. Each event becomes a profile with its name as
// profile.name. The result shares no memory with payload. Samples that differ in nothing but time are one.
//
// The value of a sample is its period: how often the event happened since the one before. For cpu-clock and task-clock that is
// processor time, the type is cpu in nanoseconds; for other events the type is the name of the event. Where perf printed no
// period, samples count 1 each.
//
// By default the times of perf count from the start of the machine. Then the profile has a duration, but no time. Times since
// 2000 are taken for wall clock time, which perf record -k CLOCK_REALTIME writes: then each sample has its times.
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
	r := &reader{Builder: b, byEvent: map[eventKey]*eventProfile{}}
	r.readText(plain)
	r.describeEvents()
	return b.Finish()
}

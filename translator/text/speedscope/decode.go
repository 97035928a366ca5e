// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package speedscope translates files of speedscope, a profile viewer, to OTLP profiles. Many profilers write this JSON
// format: a list of frames, and profiles that are either weighted stacks or events that open and close frames.
package speedscope // import "github.com/otelpprof/otelpprof/translator/text/speedscope"

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// payloadFormat is the original_payload_format.
const payloadFormat = "speedscope"

// Decode translates one file: plain, in gzip or in zstd. Each profile of the file becomes a profile, with its name as
// profile.name; src.ProfileName is for profiles without a name. The result shares no memory with payload. Equal stacks of
// a profile become one sample.
//
// Values in a unit of time become nanoseconds, with the type wall. Bytes have the type space. Values without a unit are
// counts of samples. If the first of src.SampleTypes has the same unit, it replaces the type. The format has no absolute
// times.
func Decode(payload []byte, src pprof.Source, options text.Options) (pprofile.Profiles, pprof.DecodeStats, error) {
	return profilebuilder.Decode(payload, src, options, payloadFormat, func(b *profilebuilder.Builder, plain []byte) {
		r := &reader{JSON: profilebuilder.NewJSON(b, plain)}
		b.Fail(r.readFile())
	})
}

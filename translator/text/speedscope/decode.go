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

// Decode translates one file: plain, in gzip or in zstd. Each profile of the file becomes a profile, with its name as
// profile.name; src.ProfileName is for profiles without a name. The result shares no memory with payload. Equal stacks of
// a profile become one sample.
//
// Values in a unit of time become nanoseconds, with the type wall. Bytes have the type space. Values without a unit are
// counts of samples. If the first of src.SampleTypes has the same unit, it replaces the type. The format has no absolute
// times.
func Decode(payload []byte, src pprof.Source, options text.Options) (pprofile.Profiles, pprof.DecodeStats, error) {
	return profilebuilder.Decode(payload, src, options, "speedscope", func(b *profilebuilder.Builder, plain []byte) {
		r := &reader{JSON: profilebuilder.NewJSON(b, plain)}
		r.readFile()
	})
}

// schema is the expected value of the optional field $schema.
const schema = "https://www.speedscope.app/file-format-schema.json"

// reader reads one file.
type reader struct {
	profilebuilder.JSON
	frames []frame
	// stack is the stack of the current sample, root first.
	stack   []int32
	weights []int64
}

// readFile reads the file. It needs one pass if the frames come before the profiles, as the application writes them.
func (r *reader) readFile() {
	var shared, profiles bool
	var later int
	for key := range r.Fields() {
		switch string(key) {
		case "$schema":
			if text := r.ReadText(); string(text) != schema {
				r.Failf("$schema is %q, it must be %q", text, schema)
			}
		case "shared":
			r.checkOnce(key, &shared)
			r.readShared()
		case "profiles":
			if r.checkOnce(key, &profiles); shared {
				r.readProfiles()
			} else {
				later = r.Mark().At
			}
		default:
			r.Skip()
		}
	}
	r.End()
	switch {
	case r.Err() != nil:
	case !shared:
		r.Failf("the file has no field %q", "shared")
	case !profiles:
		r.Failf("the file has no field %q", "profiles")
	case later > 0:
		r.At = later
		r.readProfiles()
	}
}

// checkOnce sets an error if a field has already occurred.
func (r *reader) checkOnce(key []byte, before *bool) {
	if *before {
		r.Failf("the file has the field %q twice", key)
	}
	*before = true
}

func (r *reader) readProfiles() {
	read := 0
	for range r.Items("profile") {
		r.readProfile()
		read++
	}
	if read == 0 {
		r.Failf("the file has no profile")
	}
}

// frame is a frame of the file: its position, and its location, which is 0 until the first stack refers to it.
type frame struct {
	at       int
	location int32
}

func (r *reader) readShared() {
	for key := range r.Fields() {
		if string(key) != "frames" {
			r.Skip()
			continue
		}
		r.frames = r.frames[:0]
		for range r.Items("") {
			r.Peek()
			r.frames = profilebuilder.Append(r.Builder, r.frames, frame{at: r.At})
			r.Skip()
		}
	}
}

// location returns the location of a frame.
func (r *reader) location(number int32) int32 {
	if r.Err() != nil {
		return 0
	}
	f := &r.frames[number]
	if f.location == 0 {
		after := r.At
		r.At = f.at
		f.location = r.ReadFrame("name", "file", "line", "col", 1)
		r.At = after
		if r.Err() != nil {
			r.AddPosition("frame %d", number)
		}
	}
	return f.location
}

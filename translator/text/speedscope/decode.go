// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package speedscope translates files of speedscope, a profile viewer, to OTLP profiles. Many profilers write this JSON
// format: a list of frames, and profiles that are either weighted stacks or events that open and close frames.
package speedscope // import "github.com/otelpprof/otelpprof/translator/text/speedscope"

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
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

// schema is the expected value of the optional field $schema.
const schema = "https://www.speedscope.app/file-format-schema.json"

// reader reads one file.
type reader struct {
	profilebuilder.JSON
	frames []frame
	// stack is the stack of the current sample, root first.
	stack   []int32
	weights []int64
	event   event
}

// readFile reads the file. It needs one pass if the frames come before the profiles, as the application writes them. It can
// return an error that the builder already has.
func (r *reader) readFile() error {
	var shared bool
	var profiles, later int
	err := r.Object(func(key []byte) error {
		switch string(key) {
		case "$schema":
			return r.readSchema()
		case "shared":
			if shared {
				return profilebuilder.Malformed("the file has the field %q twice", key)
			}
			shared = true
			return r.readShared()
		case "profiles":
			if profiles++; profiles > 1 {
				return profilebuilder.Malformed("the file has the field %q twice", key)
			}
			if !shared {
				return r.Mark(&later)
			}
			return r.Array(r.readProfile)
		default:
			return r.Skip()
		}
	})
	if err == nil {
		err = r.End()
	}
	switch {
	case err != nil:
		return err
	case !shared:
		return profilebuilder.Malformed("the file has no field %q", "shared")
	case profiles == 0:
		return profilebuilder.Malformed("the file has no field %q", "profiles")
	}
	if later > 0 {
		r.At = later
		err = r.Array(r.readProfile)
	}
	if err == nil && len(r.Profiles()) == 0 {
		err = profilebuilder.Malformed("the file has no profile")
	}
	return err
}

func (r *reader) readSchema() error {
	text, err := r.ReadText()
	if err == nil && string(text) != schema {
		err = profilebuilder.Malformed("$schema is %.64q, it must be %q", text, schema)
	}
	return err
}

// frame is a frame of the file: its position, and its location. The location is added to the dictionary when the first
// stack refers to it.
type frame struct {
	at       int
	location int32
	added    bool
}

func (r *reader) readShared() error {
	return r.Object(func(key []byte) error {
		if string(key) != "frames" {
			return r.Skip()
		}
		r.frames = r.frames[:0]
		return r.Array(func() error {
			r.Peek()
			r.frames = profilebuilder.Append(r.Builder, r.frames, frame{at: r.At})
			if err := r.Err(); err != nil {
				return err
			}
			return r.Skip()
		})
	})
}

// location returns the location of a frame.
func (r *reader) location(number int) (int32, error) {
	f := &r.frames[number]
	if f.added {
		return f.location, nil
	}
	after := r.At
	r.At = f.at
	content, err := r.readFrame()
	if err != nil {
		return 0, fmt.Errorf("frame %d: %w", number, err)
	}
	r.At = after
	line := dictionary.Line{Function: r.Function(content.name, content.file), Line: content.line, Column: content.column}
	f.location, f.added = r.Location(dictionary.Location{}, []dictionary.Line{line}, nil), true
	if r.Err() != nil {
		r.AddPosition("frame %d", number)
	}
	return f.location, r.Err()
}

// frameContent has the fields of a frame.
type frameContent struct {
	name, file   []byte
	line, column int64
}

func (r *reader) readFrame() (f frameContent, err error) {
	err = r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			f.name, err = r.ReadText()
		case "file":
			f.file, err = r.ReadText()
		case "line":
			f.line, err = r.ReadPosition(1)
		case "col":
			f.column, err = r.ReadPosition(1)
		default:
			err = r.Skip()
		}
		return err
	})
	if len(f.name) == 0 {
		f.name = []byte(profilebuilder.Anonymous)
	}
	return f, err
}

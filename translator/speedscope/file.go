// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package speedscope

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/jsonscan"
	"github.com/otelpprof/otelpprof/translator/internal/profilebuilder"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// schema is the value of $schema, if a file has it.
const schema = "https://www.speedscope.app/file-format-schema.json"

// anonymous is the name of a function that has none.
const anonymous = "(anonymous)"

// reader reads one file. The scanner goes back: the fields of an object may come in any order.
type reader struct {
	*profilebuilder.Builder
	jsonscan.Scanner
	types []pprof.ValueType
	// frames has the location of each frame of the file.
	frames []int32
	frame  frame
	// stack has the frames of a sample, or those that are open. The root comes first.
	stack   []int32
	weights []int64
	event   event
}

// readFile reads the file. An error of the builder may be the same.
func (r *reader) readFile() error {
	var shared, profiles int
	err := r.Object(func(key []byte) error {
		switch string(key) {
		case "$schema":
			return r.readSchema()
		case "shared":
			return r.mark(&shared)
		case "profiles":
			return r.mark(&profiles)
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
	case shared == 0:
		return profilebuilder.Malformed("the file has no field %q", "shared")
	case profiles == 0:
		return profilebuilder.Malformed("the file has no field %q", "profiles")
	}
	r.At = shared
	if err := r.readShared(); err != nil {
		return err
	}
	r.At = profiles
	if err := r.Array(r.readProfile); err != nil {
		return err
	}
	if len(r.Profiles()) == 0 {
		return profilebuilder.Malformed("the file has no profile")
	}
	return nil
}

// mark keeps the place of a value, and skips it.
func (r *reader) mark(place *int) error {
	*place = r.At
	return r.Skip()
}

func (r *reader) readSchema() error {
	text, err := r.text()
	if err == nil && string(text) != schema {
		err = profilebuilder.Malformed("$schema is %.64q, it must be %q", text, schema)
	}
	return err
}

// frame is what is read of a frame.
type frame struct {
	name, file []byte
	line, col  int64
}

func (r *reader) readShared() error {
	return r.Object(func(key []byte) error {
		if string(key) != "frames" {
			return r.Skip()
		}
		r.frames = r.frames[:0]
		field := r.readFrameField
		return r.Array(func() error {
			r.frame = frame{}
			if err := r.Object(field); err != nil {
				return err
			}
			r.addFrame()
			return r.Err()
		})
	})
}

func (r *reader) readFrameField(key []byte) (err error) {
	f := &r.frame
	switch string(key) {
	case "name":
		f.name, err = r.text()
	case "file":
		f.file, err = r.text()
	case "line":
		f.line, err = r.position()
	case "col":
		f.col, err = r.position()
	default:
		err = r.Skip()
	}
	return err
}

func (r *reader) addFrame() {
	f := &r.frame
	if len(f.name) == 0 {
		f.name = []byte(anonymous)
	}
	line := dictionary.Line{Function: r.Function(f.name, f.file), Line: f.line, Column: f.col}
	location := r.Location(dictionary.Location{}, []dictionary.Line{line}, nil)
	r.frames = profilebuilder.Append(r.Builder, r.frames, location)
	r.Locate("frame %d", len(r.frames)-1)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package cpuprofile translates the CPU profiles of V8 to OTLP profiles. Node.js (node --cpu-prof), Chrome's DevTools and other programs
// write this JSON format into files that end in .cpuprofile: a tree of calls, the node of each sample, and the times between samples.
package cpuprofile // import "github.com/otelpprof/otelpprof/translator/text/cpuprofile"

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// payloadFormat is the original_payload_format.
const payloadFormat = "cpuprofile"

// Decode translates one file: plain, in gzip or in zstd. The result has one profile, and shares no memory with payload. Samples of equal
// stacks become one.
//
// The value of a sample is the time to the next one, of the last the time to the end, with the type cpu and the unit nanoseconds. If the
// first of src.SampleTypes has the same unit, it replaces the type. Samples are put in the order of their times: with negative time
// deltas they are not in that order.
//
// The frames (idle), (program) and (garbage collector) are kept. (root), above all others, is only a frame of samples without another
// one. A line and column are those where the function begins.
//
// V8 counts times from the boot of the machine. Then the profile has a duration, but no time. Times after the year 2000 are wall-clock
// times. Then samples have timestamps.
func Decode(payload []byte, src pprof.Source, options text.Options) (pprofile.Profiles, pprof.DecodeStats, error) {
	return profilebuilder.Decode(payload, src, options, payloadFormat, func(b *profilebuilder.Builder, plain []byte) {
		r := &reader{JSON: profilebuilder.NewJSON(b, plain)}
		b.Fail(r.readFile())
	})
}

// reader reads one file.
type reader struct {
	profilebuilder.JSON
	// nodes are sorted by id.
	nodes   []node
	samples []sample
	// stack is the stack of the current node, leaf first.
	stack []int32
}

// field is the position of a field of the file, 0 if it is missing. count is the number of values of an array.
type field struct{ at, count int }

// fields are the fields of the file, all of which it must have.
type fields struct{ nodes, samples, timeDeltas, startTime, endTime field }

// readFile reads the file. It can return an error that the builder already has.
func (r *reader) readFile() error {
	f, err := r.readFields()
	if err == nil {
		err = r.readNodes(f.nodes)
	}
	if err == nil {
		err = r.readParents()
	}
	if err == nil {
		err = r.checkCycles()
	}
	if err == nil {
		err = r.readSamples(&f)
	}
	return err
}

// readFields finds the fields. They come in any order.
func (r *reader) readFields() (f fields, err error) {
	byName := map[string]*field{
		"nodes": &f.nodes, "samples": &f.samples, "timeDeltas": &f.timeDeltas, "startTime": &f.startTime, "endTime": &f.endTime,
	}
	err = r.Object(func(key []byte) error {
		one, known := byName[string(key)]
		switch {
		case !known:
			return r.Skip()
		case one.at > 0:
			return profilebuilder.Malformed("the file has the field %q twice", key)
		case r.Peek() == '[':
			return r.MarkArray(&one.at, &one.count)
		default:
			return r.Mark(&one.at)
		}
	})
	if err == nil {
		err = r.End()
	}
	for _, name := range []string{"nodes", "samples", "timeDeltas", "startTime", "endTime"} {
		if err == nil && byName[name].at == 0 {
			err = profilebuilder.Malformed("the file has no field %q", name)
		}
	}
	return f, err
}

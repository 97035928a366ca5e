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
		r.readFile()
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

// fields are the fields of the file, all of which it must have.
type fields struct{ nodes, samples, timeDeltas, startTime, endTime profilebuilder.Place }

func (r *reader) readFile() {
	f := r.readFields()
	if r.Err() == nil {
		r.readNodes(f.nodes)
	}
	if r.Err() == nil {
		r.readParents()
	}
	if r.Err() == nil {
		r.checkCycles()
		r.readSamples(&f)
	}
}

// readFields finds the fields. They come in any order.
func (r *reader) readFields() (f fields) {
	byName := map[string]*profilebuilder.Place{
		"nodes": &f.nodes, "samples": &f.samples, "timeDeltas": &f.timeDeltas, "startTime": &f.startTime, "endTime": &f.endTime,
	}
	for key := range r.Fields() {
		place, known := byName[string(key)]
		switch {
		case !known:
			r.Skip()
		case place.At > 0:
			r.Failf("the file has the field %q twice", key)
		default:
			*place = r.Mark()
		}
	}
	r.End()
	for _, name := range []string{"nodes", "samples", "timeDeltas", "startTime", "endTime"} {
		if byName[name].At == 0 {
			r.Failf("the file has no field %q", name)
		}
	}
	return f
}

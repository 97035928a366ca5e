// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package cpuprofile translates the CPU profiles of V8 to OTLP profiles. Node.js (node --cpu-prof), Chrome's DevTools and other programs
// write this JSON format into files that end in .cpuprofile: a tree of calls, the node of each sample, and the times between samples.
package cpuprofile // import "github.com/otelpprof/otelpprof/translator/text/cpuprofile"

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

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
	return profilebuilder.Decode(payload, src, options, "cpuprofile", func(b *profilebuilder.Builder, plain []byte) {
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

// fieldNames are the fields of the file, all of which it must have.
var fieldNames = []string{"nodes", "samples", "timeDeltas", "startTime", "endTime"}

func (r *reader) readFile() {
	f := r.readFields()
	if r.Err() == nil {
		r.readNodes(f["nodes"])
	}
	if r.Err() == nil {
		r.readParents()
	}
	if r.Err() == nil {
		r.checkCycles()
		r.readSamples(f)
	}
}

// readFields finds the fields. They come in any order.
func (r *reader) readFields() map[string]profilebuilder.Place {
	f := map[string]profilebuilder.Place{}
	for key := range r.Fields() {
		switch { // string(key) would copy a long one.
		case !slices.ContainsFunc(fieldNames, func(name string) bool { return name == string(key) }):
			r.Skip()
		case f[string(key)].At > 0:
			r.Failf("the file has the field %q twice", key)
		default:
			f[string(key)] = r.Mark()
		}
	}
	r.End()
	for _, name := range fieldNames {
		if f[name].At == 0 {
			r.Failf("the file has no field %q", name)
		}
	}
	return f
}

// sample is a sample of the file. Its time is in nanoseconds. number is its number in the file.
type sample struct {
	time   int64
	node   int32
	number int32
}

// readSamples reads the samples and adds their values.
func (r *reader) readSamples(f map[string]profilebuilder.Place) {
	start, end := r.readTime(f, "startTime"), r.readTime(f, "endTime")
	samples, timeDeltas := f["samples"], f["timeDeltas"]
	if samples.Items != timeDeltas.Items {
		r.Failf("there are %d samples and %d timeDeltas", samples.Items, timeDeltas.Items)
	}
	if end < start {
		r.Failf("endTime is below startTime")
	}
	r.readSampledNodes(samples)
	r.readTimeDeltas(timeDeltas, start)
	r.addSamples(start, end)
}

// readTime reads a time in microseconds, and returns it in nanoseconds.
func (r *reader) readTime(f map[string]profilebuilder.Place, name string) int64 {
	if r.Err() != nil {
		return 0
	}
	r.At = f[name].At
	time := r.ReadValue(1e3, false)
	if time < 0 {
		r.Failf("byte %d: the time is below 0", r.At)
	}
	if r.Err() != nil {
		r.AddPosition("%s", name)
	}
	return time
}

func (r *reader) readSampledNodes(from profilebuilder.Place) {
	r.samples = profilebuilder.Grow(r.Builder, r.samples, from.Items)
	r.At = from.At
	for number := range r.Items("sample") {
		r.samples = append(r.samples, sample{node: r.find(r.ReadValue(1, true)), number: int32(number)})
	}
}

// readTimeDeltas sets the times of the samples and sorts the samples by them.
func (r *reader) readTimeDeltas(from profilebuilder.Place, time int64) {
	r.At = from.At
	sorted := true
	for number := range r.Items("timeDelta") {
		delta := r.ReadValue(1e3, false)
		// If the sum overflows, it is below 0 too.
		if time += delta; time < 0 {
			r.Failf("byte %d: the time of the sample is below 0, or too large", r.At)
		}
		sorted = sorted && (delta >= 0 || number == 0)
		r.samples[number].time = time
	}
	if !sorted {
		slices.SortFunc(r.samples, func(a, b sample) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.number, b.number)) })
	}
}

// addSamples adds the profile and its samples. start and end are the times of the file, in nanoseconds.
func (r *reader) addSamples(start, end int64) {
	if len(r.samples) > 0 {
		start, end = min(start, r.samples[0].time), max(end, r.samples[len(r.samples)-1].time)
	}
	p := profilebuilder.Profile{
		Type:     r.SampleType(pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}),
		Duration: uint64(end - start),
	}
	isWallClock := start >= profilebuilder.FirstWallClock
	if isWallClock {
		p.Start = uint64(start)
	}
	profile := r.AddProfile(p)
	for i, s := range r.samples {
		if r.Err() != nil {
			return
		}
		next := end
		if i+1 < len(r.samples) {
			next = r.samples[i+1].time
		}
		time := uint64(0)
		if isWallClock {
			time = uint64(s.time)
		}
		if profile.Add(r.stackOf(s.node), nil, next-s.time, time); r.Err() != nil {
			r.AddPosition("sample %d", s.number)
		}
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpuprofile

import (
	"cmp"
	"slices"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// sample is a sample of the file. Its time is in nanoseconds. number is its number in the file.
type sample struct {
	time   int64
	node   int32
	number int32
}

// readSamples reads the samples and adds their values.
func (r *reader) readSamples(f *fields) {
	start := r.readTime("startTime", f.startTime)
	end := r.readTime("endTime", f.endTime)
	if f.samples.Items != f.timeDeltas.Items {
		r.Failf("there are %d samples and %d timeDeltas", f.samples.Items, f.timeDeltas.Items)
	}
	if end < start {
		r.Failf("endTime is below startTime")
	}
	r.readSampledNodes(f.samples)
	r.readTimeDeltas(f.timeDeltas, start)
	r.addSamples(start, end)
}

// readTime reads a time in microseconds, and returns it in nanoseconds.
func (r *reader) readTime(name string, from profilebuilder.Place) int64 {
	if r.Err() != nil {
		return 0
	}
	r.At = from.At
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

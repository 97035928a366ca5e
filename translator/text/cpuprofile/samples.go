// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpuprofile

import (
	"cmp"
	"fmt"
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
func (r *reader) readSamples(f *fields) error {
	start, err := r.readTime(f.startTime)
	if err != nil {
		return fmt.Errorf("startTime: %w", err)
	}
	end, err := r.readTime(f.endTime)
	if err != nil {
		return fmt.Errorf("endTime: %w", err)
	}
	if f.samples.count != f.timeDeltas.count {
		return profilebuilder.Malformed("there are %d samples and %d timeDeltas", f.samples.count, f.timeDeltas.count)
	}
	if end < start {
		return profilebuilder.Malformed("endTime is below startTime")
	}
	if err := r.readSampledNodes(f.samples); err != nil {
		return err
	}
	if err := r.readTimeDeltas(f.timeDeltas, start); err != nil {
		return err
	}
	return r.addSamples(start, end)
}

// readTime reads a time in microseconds, and returns it in nanoseconds.
func (r *reader) readTime(f field) (int64, error) {
	r.At = f.at
	time, err := r.ReadValue(1e3, false)
	if err == nil && time < 0 {
		err = profilebuilder.Malformed("byte %d: the time is below 0", r.At)
	}
	return time, err
}

func (r *reader) readSampledNodes(f field) error {
	r.samples = profilebuilder.Grow(r.Builder, r.samples, f.count)
	if err := r.Err(); err != nil {
		return err
	}
	r.At = f.at
	return r.Array(func() error {
		number := len(r.samples)
		id, err := r.ReadValue(1, true)
		if err != nil {
			return fmt.Errorf("sample %d: %w", number, err)
		}
		node, err := r.find(id)
		if err != nil {
			return fmt.Errorf("sample %d: %w", number, err)
		}
		r.samples = append(r.samples, sample{node: int32(node), number: int32(number)})
		return nil
	})
}

// readTimeDeltas sets the times of the samples and sorts the samples by them.
func (r *reader) readTimeDeltas(f field, time int64) error {
	r.At = f.at
	number, sorted := 0, true
	err := r.Array(func() error {
		delta, err := r.ReadValue(1e3, false)
		// If the sum overflows, it is below 0 too.
		if time += delta; err == nil && time < 0 {
			err = profilebuilder.Malformed("byte %d: the time of the sample is below 0, or too large", r.At)
		}
		if err != nil {
			return fmt.Errorf("timeDelta %d: %w", number, err)
		}
		sorted = sorted && (delta >= 0 || number == 0)
		r.samples[number].time = time
		number++
		return nil
	})
	if !sorted {
		slices.SortFunc(r.samples, func(a, b sample) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.number, b.number)) })
	}
	return err
}

// addSamples adds the profile and its samples. start and end are the times of the file, in nanoseconds.
func (r *reader) addSamples(start, end int64) error {
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
		next := end
		if i+1 < len(r.samples) {
			next = r.samples[i+1].time
		}
		stack, err := r.stackOf(s.node)
		switch {
		case err != nil:
		case isWallClock:
			profile.AddEvent(stack, nil, next-s.time, uint64(s.time))
		default:
			profile.Add(stack, nil, next-s.time)
		}
		if err == nil {
			err = r.Err()
		}
		if err != nil {
			r.Fail(err)
			r.AddPosition("sample %d", s.number)
			return r.Err()
		}
	}
	return nil
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"strings"

	"github.com/google/pprof/profile"
)

// Kind is a profile of testdata/pprof.
type Kind struct {
	// Name is that of the file, without suffix.
	Name string
	// Make returns a new profile, the same each time.
	Make func() *profile.Profile
}

// Kinds lists the profiles of testdata/pprof.
func Kinds() []Kind {
	return []Kind{
		{"cpu", CPU},
		{"heap", Heap},
		{"goroutine", Goroutine},
		{"mutex", Mutex},
		{"block", Block},
		{"labelled", Labelled},
		{"deep", Deep},
		{"wide", Wide},
	}
}

const (
	startTime = 1_767_225_600_123_456_789 // 2026-01-01
	second    = 1_000_000_000
)

// CPU is a Go CPU profile of 30 seconds, about 100 kB gzipped.
func CPU() *profile.Profile {
	p := newProgram(1, 60, 1400)
	describe(p.profile, "cpu", "nanoseconds", 10_000_000, "samples/count", "cpu/nanoseconds")
	p.profile.DurationNanos = 30*second + 1_234_567
	for range 3900 {
		n := int64(1)
		for p.random.IntN(3) == 0 {
			n *= 2
		}
		p.add(p.stack(6+p.random.IntN(28)), nil, n, n*10_000_000)
	}
	return p.finish()
}

// Heap is a Go heap profile, about 600 kB gzipped: four sample types, and the size of the objects as a number without
// unit. Half of what was allocated is no longer in use.
func Heap() *profile.Profile {
	p := newProgram(2, 160, 5000)
	describe(p.profile, "space", "bytes", 524_288,
		"alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes")
	sizes := []int64{8, 16, 32, 48, 64, 80, 96, 112, 128, 208, 256, 512, 1024, 2048, 4096, 8192, 65536, 1 << 20}
	for range 17_000 {
		size := pick(p.random, sizes)
		allocated := 1 + int64(p.random.ExpFloat64()*float64(2_000_000/size))
		used := int64(0)
		if p.random.IntN(2) == 0 {
			used = 1 + p.random.Int64N(allocated)
		}
		label := &profile.Sample{NumLabel: map[string][]int64{"bytes": {size}}}
		p.add(p.stack(5+p.random.IntN(26)), label, allocated, allocated*size, used, used*size)
	}
	return p.finish()
}

// Goroutine is a Go goroutine profile: few stacks, some with pprof.Do's labels.
func Goroutine() *profile.Profile {
	p := newProgram(3, 20, 200)
	describe(p.profile, "goroutine", "count", 1, "goroutine/count")
	for i := range 120 {
		var label *profile.Sample
		if i%3 == 0 {
			label = &profile.Sample{Label: map[string][]string{"worker": {fmt.Sprintf("pool-%d", i%7)}}}
		}
		p.add(p.stack(3+p.random.IntN(12)), label, 1+p.random.Int64N(40))
	}
	return p.finish()
}

// Mutex is a Go mutex profile.
func Mutex() *profile.Profile { return contention(4) }

// Block is a Go block profile, which looks like that of a mutex.
func Block() *profile.Profile { return contention(5) }

func contention(seed uint64) *profile.Profile {
	p := newProgram(seed, 20, 200)
	describe(p.profile, "contentions", "count", 1, "contentions/count", "delay/nanoseconds")
	for range 80 {
		n := 1 + p.random.Int64N(5000)
		p.add(p.stack(4+p.random.IntN(10)), nil, n, n*p.random.Int64N(90_000))
	}
	return p.finish()
}

// Deep has stacks as Ruby's frameworks make them: 60 to 209 methods deep, without addresses and mappings.
func Deep() *profile.Profile {
	p := newProgram(6, 1, 1)
	*p.profile = profile.Profile{}
	describe(p.profile, "cpu", "nanoseconds", 10_000_000, "samples/count")
	var methods []*profile.Location
	for i := range uint64(500) {
		f := &profile.Function{ID: i + 1, Name: rubyName(p.random), Filename: fmt.Sprintf("/app/lib/%s.rb", pick(p.random, areas))}
		l := &profile.Location{ID: i + 1, Line: []profile.Line{{Function: f, Line: int64(1 + p.random.IntN(800))}}}
		p.profile.Function = append(p.profile.Function, f)
		p.profile.Location = append(p.profile.Location, l)
		methods = append(methods, l)
	}
	var common []*profile.Location
	for range 209 {
		common = append(common, pick(p.random, methods))
	}
	for range 300 {
		depth := 60 + p.random.IntN(150)
		own := p.random.IntN(20)
		var stack []*profile.Location
		for range own {
			stack = append(stack, pick(p.random, methods))
		}
		p.add(append(stack, common[len(common)-depth+own:]...), nil, 1+p.random.Int64N(9))
	}
	return p.profile
}

// Wide has many functions of many mappings in stacks of one to three, and twelve sample types.
func Wide() *profile.Profile {
	p := newProgram(7, 1, 1)
	*p.profile = profile.Profile{}
	var types []string
	for i := range 12 {
		types = append(types, fmt.Sprintf("event_%d/count", i))
	}
	describe(p.profile, "event_0", "count", 1000, types...)
	for i := range uint64(60) {
		p.profile.Mapping = append(p.profile.Mapping, &profile.Mapping{
			ID: i + 1, Start: (i + 1) << 24, Limit: (i+1)<<24 + 1<<20, Offset: i << 12, File: fmt.Sprintf("/usr/lib/lib%s-%d.so", pick(p.random, areas), i),
			BuildID: fmt.Sprintf("%040x", p.random.Uint64()), HasFunctions: i%2 == 0, HasFilenames: i%3 == 0, HasLineNumbers: i%5 == 0,
			HasInlineFrames: i%7 == 0,
		})
	}
	for i := range uint64(1500) {
		name := fmt.Sprintf("%s_%s_%d", pick(p.random, verbs), pick(p.random, areas), i)
		f := &profile.Function{ID: i + 1, Name: name, SystemName: "_Z" + name, Filename: fmt.Sprintf("src/%s.cc", pick(p.random, areas))}
		m := p.profile.Mapping[i%60]
		p.profile.Function = append(p.profile.Function, f)
		p.profile.Location = append(p.profile.Location, &profile.Location{
			ID: 1<<40 + i*977, Mapping: m, Address: m.Start + i*16, Line: []profile.Line{{Function: f, Line: int64(i % 90), Column: int64(i % 7)}},
		})
	}
	for i := range 1500 {
		stack := []*profile.Location{p.profile.Location[i]}
		for range p.random.IntN(3) {
			stack = append(stack, pick(p.random, p.profile.Location))
		}
		values := make([]int64, len(types))
		values[p.random.IntN(len(values))] = 1 + p.random.Int64N(100)
		values[p.random.IntN(len(values))] = 1 + p.random.Int64N(100)
		p.add(stack, nil, values...)
	}
	return p.profile
}

// describe sets the fields that say what was measured. types are type/unit.
func describe(p *profile.Profile, periodType, periodUnit string, period int64, types ...string) {
	for _, t := range types {
		kind, unit, _ := strings.Cut(t, "/")
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: kind, Unit: unit})
	}
	p.PeriodType = &profile.ValueType{Type: periodType, Unit: periodUnit}
	p.Period = period
	p.TimeNanos = startTime
}

// add appends a sample with the labels of another, if any.
func (p *program) add(stack []*profile.Location, labels *profile.Sample, values ...int64) {
	s := &profile.Sample{Location: stack, Value: values}
	if labels != nil {
		s.Label, s.NumLabel, s.NumUnit = labels.Label, labels.NumLabel, labels.NumUnit
	}
	p.profile.Sample = append(p.profile.Sample, s)
}

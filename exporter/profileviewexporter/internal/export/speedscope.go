// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/json"
	"strconv"

	"github.com/google/pprof/profile"
)

// speedscopeSchema names the format, see https://www.speedscope.app/file-format-schema.json.
const speedscopeSchema = "https://www.speedscope.app/file-format-schema.json"

// speedscopeUnits are the units of speedscope.
var speedscopeUnits = map[string]bool{"nanoseconds": true, "microseconds": true, "milliseconds": true, "seconds": true, "bytes": true}

// speedscopeFrame identifies a frame, which stands for a function. line is the line where the function starts, as in speedscope's own import
// of pprof: with the lines of samples, one function would be several.
type speedscopeFrame struct {
	name, file string
	line       int64
}

// Speedscope returns a file for speedscope, with a profile for each sample type. It leaves out samples whose value is not above
// 0.
func Speedscope(p *profile.Profile, name string, limits Limits) ([]byte, error) {
	t := text{limits: limits}
	t.add(`{"$schema":"` + speedscopeSchema + `","exporter":"otelpprof","name":`)
	t.quoted(name)
	t.add(`,"activeProfileIndex":` + strconv.Itoa(max(0, defaultIndex(p))) + `,"shared":{"frames":[`)
	indices := t.speedscopeFrames(p)
	t.add(`]},"profiles":[`)
	for i, sampleType := range p.SampleType {
		if i > 0 {
			t.add(",")
		}
		t.speedscopeProfile(p, i, sampleType, indices)
		if t.err != nil {
			return nil, t.err
		}
	}
	t.add("]}\n")
	return t.bytes, t.err
}

// defaultIndex returns the index of the sample type that is shown first.
func defaultIndex(p *profile.Profile) int {
	index, err := p.SampleIndexByName("")
	if err != nil {
		return 0
	}
	return index
}

// quoted adds a text as JSON.
func (t *text) quoted(s string) {
	if t.grow(6*len(s) + 2) { // the maximum length after escaping
		quoted, _ := json.Marshal(s) // never fails
		t.bytes = append(t.bytes, quoted...)
	}
}

// speedscopeFrames adds the frames of samples, and returns the index of each.
func (t *text) speedscopeFrames(p *profile.Profile) map[speedscopeFrame]int {
	indices := map[speedscopeFrame]int{}
	for _, s := range p.Sample {
		for frame := range frames(s) {
			f := frameOf(frame)
			if _, known := indices[f]; known {
				continue
			}
			if len(indices) > 0 {
				t.add(",")
			}
			indices[f] = len(indices)
			t.add(`{"name":`)
			t.quoted(f.name)
			if f.file != "" {
				t.add(`,"file":`)
				t.quoted(f.file)
			}
			if f.line > 0 {
				t.add(`,"line":` + strconv.FormatInt(f.line, 10))
			}
			t.add("}")
			if t.err != nil {
				return indices
			}
		}
	}
	return indices
}

func frameOf(l *profile.Line) speedscopeFrame {
	f := speedscopeFrame{name: nameOf(l)}
	if l.Function != nil {
		f.file, f.line = l.Function.Filename, l.Function.StartLine
	}
	return f
}

// speedscopeProfile adds the samples of one type: their stacks as indices of frames, and their values.
func (t *text) speedscopeProfile(p *profile.Profile, index int, sampleType *profile.ValueType, indices map[speedscopeFrame]int) {
	unit := "none"
	if speedscopeUnits[sampleType.Unit] {
		unit = sampleType.Unit
	}
	t.add(`{"type":"sampled","name":`)
	t.quoted(sampleType.Type)
	t.add(`,"unit":"` + unit + `","startValue":0,"samples":[`)
	total, some := int64(0), false
	for _, s := range p.Sample {
		if s.Value[index] <= 0 {
			continue
		}
		if some {
			t.add(",")
		}
		some = true
		total += s.Value[index]
		separator := "["
		for frame := range frames(s) {
			t.add(separator + strconv.Itoa(indices[frameOf(frame)]))
			separator = ","
		}
		if separator == "[" {
			t.add("[")
		}
		t.add("]")
		if t.err != nil {
			return
		}
	}
	t.add(`],"weights":[`)
	separator := ""
	for _, s := range p.Sample {
		if s.Value[index] > 0 {
			t.add(separator + strconv.FormatInt(s.Value[index], 10))
			separator = ","
		}
	}
	t.add(`],"endValue":` + strconv.FormatInt(total, 10) + "}")
}

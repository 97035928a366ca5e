// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// DiffPprof compares two pprofs by all that the way through OTLP keeps, and returns "" when they are the same.
//
// Ids and the order of samples, locations and functions do not count; samples of equal stack and labels are summed
// first; of mappings with equal content the first counts; what no sample reaches is left out, but for the first mapping. What OTLP cannot hold counts as what becomes of it: text that is not
// UTF-8 is read with U+FFFD in place of the faulty bytes, a negative time or duration as 0, a mapping without any
// content as none, and a lone sample type without name and samples as none. Both profiles must satisfy CheckValid.
func DiffPprof(a, b *profile.Profile) string {
	d := &differences{}
	diffHeaders(d, a, b)

	ids := pprofIdentities{locations: interner{}, samples: interner{}}
	flatA, flatB := ids.flatten(a), ids.flatten(b)
	diffLists(d, "mapping", flatA.mappings, flatB.mappings)
	for _, id := range flatA.order {
		of, other := flatA.samples[id], flatB.samples[id]
		switch {
		case other == nil:
			d.add("- sample %s: %v", describePprofSample(of.first), of.values)
		case !slices.Equal(of.values, other.values):
			d.add("sample %s: - %v + %v", describePprofSample(of.first), of.values, other.values)
		}
	}
	for _, id := range flatB.order {
		if flatA.samples[id] == nil {
			d.add("+ sample %s: %v", describePprofSample(flatB.samples[id].first), flatB.samples[id].values)
		}
	}
	return d.text()
}

func diffHeaders(d *differences, a, b *profile.Profile) {
	diffLists(d, "sample type", sampleTypes(a), sampleTypes(b))
	field(d, "", "main mapping", mainMapping(a), mainMapping(b))
	field(d, "", "default sample type", valid(a.DefaultSampleType), valid(b.DefaultSampleType))
	diffLists(d, "period type", valueTypes(a.PeriodType), valueTypes(b.PeriodType))
	field(d, "", "period", a.Period, b.Period)
	field(d, "", "time", max(a.TimeNanos, 0), max(b.TimeNanos, 0))
	field(d, "", "duration", max(a.DurationNanos, 0), max(b.DurationNanos, 0))
	field(d, "", "drop frames", valid(a.DropFrames), valid(b.DropFrames))
	field(d, "", "keep frames", valid(a.KeepFrames), valid(b.KeepFrames))
	field(d, "", "doc url", valid(a.DocURL), valid(b.DocURL))
	diffLists(d, "comment", validAll(a.Comments), validAll(b.Comments))
}

// diffLists compares two lists in order.
func diffLists[T comparable](d *differences, name string, a, b []T) {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(b):
			d.add("- %s %d: %s", name, i, shown(a[i]))
		case i >= len(a):
			d.add("+ %s %d: %s", name, i, shown(b[i]))
		default:
			field(d, "", fmt.Sprintf("%s %d", name, i), a[i], b[i])
		}
	}
}

func sampleTypes(p *profile.Profile) []pprofValueType {
	types := valueTypes(p.SampleType...)
	if len(types) == 1 && types[0] == (pprofValueType{}) && len(p.Sample) == 0 {
		return nil
	}
	return types
}

// mainMapping is the first mapping with any content.
func mainMapping(p *profile.Profile) pprofMapping {
	for _, m := range p.Mapping {
		if content := mappingContent(m); content != (pprofMapping{}) {
			return content
		}
	}
	return pprofMapping{}
}

type pprofValueType struct{ Type, Unit string }

// valueTypes copies what counts. A type that is absent is the same as one without content, google/pprof does not tell
// them apart either.
func valueTypes(types ...*profile.ValueType) []pprofValueType {
	copies := make([]pprofValueType, 0, len(types))
	for _, v := range types {
		if v == nil {
			v = &profile.ValueType{}
		}
		copies = append(copies, pprofValueType{Type: valid(v.Type), Unit: valid(v.Unit)})
	}
	return copies
}

// valid is what becomes of text on the way to OTLP, whose strings are UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func validAll(texts []string) []string {
	copies := make([]string, 0, len(texts))
	for _, s := range texts {
		copies = append(copies, valid(s))
	}
	return copies
}

// pprofIdentities numbers the locations and samples of pprofs by content, the same over both that are compared.
type pprofIdentities struct {
	locations, samples interner
}

// flatPprof is a pprof without ids: what its samples reach.
type flatPprof struct {
	mappings []pprofMapping
	samples  map[int64]*flatPprofSample
	order    []int64
}

// flatPprofSample is all samples of one stack and set of labels.
type flatPprofSample struct {
	first  *profile.Sample
	values []int64
}

type pprofMapping struct {
	Start, Limit, Offset                                      uint64
	File, BuildID                                             string
	HasFunctions, HasFilenames, HasLineNumbers, HasInlineInfo bool
}

func (ids pprofIdentities) flatten(p *profile.Profile) flatPprof {
	flat := flatPprof{samples: map[int64]*flatPprofSample{}}
	locations := map[*profile.Location]int64{}
	mappings := map[*profile.Mapping]bool{}
	for _, s := range p.Sample {
		identity := binary.AppendUvarint(nil, uint64(len(s.Location)))
		for _, l := range s.Location {
			if _, ok := locations[l]; !ok {
				locations[l] = ids.locations.id(pprofLocation(l))
				mappings[l.Mapping] = true
			}
			identity = appendNumbers(identity, locations[l])
		}
		flat.add(ids.samples.id(appendLabels(identity, s)), s)
	}
	seen := map[pprofMapping]bool{{}: true}
	for _, m := range p.Mapping {
		if content := mappingContent(m); mappings[m] && !seen[content] {
			seen[content] = true
			flat.mappings = append(flat.mappings, content)
		}
	}
	return flat
}

func (f *flatPprof) add(id int64, s *profile.Sample) {
	sample := f.samples[id]
	if sample == nil {
		sample = &flatPprofSample{first: s, values: make([]int64, len(s.Value))}
		f.samples[id] = sample
		f.order = append(f.order, id)
	}
	for i, v := range s.Value {
		sample.values[i] += v
	}
}

func mappingContent(m *profile.Mapping) pprofMapping {
	if m == nil {
		return pprofMapping{}
	}
	return pprofMapping{
		Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: valid(m.File), BuildID: valid(m.BuildID),
		HasFunctions: m.HasFunctions, HasFilenames: m.HasFilenames,
		HasLineNumbers: m.HasLineNumbers, HasInlineInfo: m.HasInlineFrames,
	}
}

// pprofLocation returns the canonical form of a location with its mapping and functions.
func pprofLocation(l *profile.Location) []byte {
	m := mappingContent(l.Mapping)
	b := fmt.Appendf(nil, "%d %d %d %d %t", l.Address, m.Start, m.Limit, m.Offset, l.IsFolded)
	b = fmt.Appendf(b, "%t %t %t %t", m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineInfo)
	b = appendString(appendString(b, m.File), m.BuildID)
	for _, line := range l.Line {
		b = appendNumbers(b, line.Line, line.Column, line.Function.StartLine)
		b = appendString(b, valid(line.Function.Name))
		b = appendString(b, valid(line.Function.SystemName))
		b = appendString(b, valid(line.Function.Filename))
	}
	return b
}

// appendLabels appends the canonical form of a sample's labels: keys in order, the values of a key as they stand.
func appendLabels(dst []byte, s *profile.Sample) []byte {
	for _, key := range slices.Sorted(maps.Keys(s.Label)) {
		if len(s.Label[key]) == 0 {
			continue
		}
		dst = appendString(append(dst, 's'), valid(key))
		dst = binary.AppendUvarint(dst, uint64(len(s.Label[key])))
		for _, value := range s.Label[key] {
			dst = appendString(dst, valid(value))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.NumLabel)) {
		if len(s.NumLabel[key]) == 0 {
			continue
		}
		dst = appendString(append(dst, 'n'), valid(key))
		dst = binary.AppendUvarint(dst, uint64(len(s.NumLabel[key])))
		for i, value := range s.NumLabel[key] {
			dst = appendString(appendNumbers(dst, value), valid(numUnit(s, key, i)))
		}
	}
	return dst
}

// numUnit returns the unit of the i-th number under key. No units at all is the same as units without text.
func numUnit(s *profile.Sample, key string, i int) string {
	if units := s.NumUnit[key]; i < len(units) {
		return units[i]
	}
	return ""
}

func describePprofSample(s *profile.Sample) string {
	var text strings.Builder
	for i, l := range s.Location {
		if i > 0 {
			text.WriteString("; ")
		}
		fmt.Fprintf(&text, "%#x %+v", l.Address, mappingContent(l.Mapping))
		for _, line := range l.Line {
			f := line.Function
			fmt.Fprintf(&text, " %q(%q) %s:%d:%d from %d", f.Name, f.SystemName, f.Filename, line.Line, line.Column, f.StartLine)
		}
		if l.IsFolded {
			text.WriteString(" folded")
		}
	}
	stack := text.String()
	if len(stack) > 1000 {
		stack = fmt.Sprintf("%s... (%d locations)", stack[:1000], len(s.Location))
	}
	return fmt.Sprintf("[%s] %s %v %v", stack, shown(s.Label), s.NumLabel, s.NumUnit)
}

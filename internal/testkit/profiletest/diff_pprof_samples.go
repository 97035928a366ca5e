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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"fmt"
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

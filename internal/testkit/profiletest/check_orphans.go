// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// reached marks the entries that a profile leads to. Indices that do not exist are passed over.
type reached struct {
	dict pprofile.ProfilesDictionary

	strings, attributes, functions, mappings, locations, stacks, links []bool
}

// orphans: every entry but the zero value is reached from a profile.
func (c *checker) orphans(pd pprofile.Profiles) {
	t := c.tables
	r := &reached{
		dict:       c.dict,
		strings:    make([]bool, len(t.strings)),
		attributes: make([]bool, len(t.attributes)),
		functions:  make([]bool, len(t.functions)),
		mappings:   make([]bool, len(t.mappings)),
		locations:  make([]bool, len(t.locations)),
		stacks:     make([]bool, len(t.stacks)),
		links:      make([]bool, len(t.links)),
	}
	if c.options.AllowUnreferencedMappings {
		for i := range t.mappings {
			r.mapping(int32(i))
		}
	}
	for p := range walk.Profiles(pd) {
		r.profile(p)
	}
	used := map[string]bool{}
	if c.options.AllowAttributeStrings {
		used = attributeStrings(pd)
	}
	for i, ok := range r.strings {
		r.strings[i] = ok || used[c.dict.StringTable().At(i)]
	}
	marks := [][]bool{r.strings, r.attributes, r.functions, r.mappings, r.locations, r.stacks, r.links}
	for i, t := range t.all() {
		for j := 1; j < len(marks[i]); j++ {
			if !marks[i][j] {
				c.report(place{t.name, j}, "is an orphan: no profile leads to it")
			}
		}
	}
}

func (r *reached) profile(p pprofile.Profile) {
	for _, v := range []pprofile.ValueType{p.SampleType(), p.PeriodType()} {
		mark(r.strings, v.TypeStrindex())
		mark(r.strings, v.UnitStrindex())
	}
	r.attributeList(p.AttributeIndices())
	for _, s := range p.Samples().All() {
		mark(r.links, s.LinkIndex())
		r.attributeList(s.AttributeIndices())
		r.stack(s.StackIndex())
	}
}

func (r *reached) stack(index int32) {
	if !mark(r.stacks, index) {
		return
	}
	for _, l := range r.dict.StackTable().At(int(index)).LocationIndices().All() {
		r.location(l)
	}
}

func (r *reached) location(index int32) {
	if !mark(r.locations, index) {
		return
	}
	l := r.dict.LocationTable().At(int(index))
	r.mapping(l.MappingIndex())
	r.attributeList(l.AttributeIndices())
	for _, line := range l.Lines().All() {
		if !mark(r.functions, line.FunctionIndex()) {
			continue
		}
		f := r.dict.FunctionTable().At(int(line.FunctionIndex()))
		mark(r.strings, f.NameStrindex())
		mark(r.strings, f.SystemNameStrindex())
		mark(r.strings, f.FilenameStrindex())
	}
}

func (r *reached) mapping(index int32) {
	if !mark(r.mappings, index) {
		return
	}
	m := r.dict.MappingTable().At(int(index))
	mark(r.strings, m.FilenameStrindex())
	r.attributeList(m.AttributeIndices())
}

func (r *reached) attributeList(indices pcommon.Int32Slice) {
	for _, index := range indices.All() {
		if mark(r.attributes, index) {
			kv := r.dict.AttributeTable().At(int(index))
			mark(r.strings, kv.KeyStrindex())
			mark(r.strings, kv.UnitStrindex())
		}
	}
}

// mark tells whether the entry exists and was not reached before: then what it leads to is still to be marked.
func mark(marks []bool, index int32) bool {
	if !inRange(index, len(marks)) || marks[index] {
		return false
	}
	marks[index] = true
	return true
}

// attributeStrings returns the keys and string values of all resources and scopes.
func attributeStrings(pd pprofile.Profiles) map[string]bool {
	used := map[string]bool{}
	for _, rp := range pd.ResourceProfiles().All() {
		addStrings(used, rp.Resource().Attributes(), 0)
		for _, sp := range rp.ScopeProfiles().All() {
			addStrings(used, sp.Scope().Attributes(), 0)
		}
	}
	return used
}

func addStrings(used map[string]bool, m pcommon.Map, depth int) {
	for key, value := range m.All() {
		used[key] = true
		addValueStrings(used, value, depth)
	}
}

func addValueStrings(used map[string]bool, v pcommon.Value, depth int) {
	if depth > maxValueDepth {
		return
	}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		used[v.Str()] = true
	case pcommon.ValueTypeMap:
		addStrings(used, v.Map(), depth+1)
	case pcommon.ValueTypeSlice:
		for _, element := range v.Slice().All() {
			addValueStrings(used, element, depth+1)
		}
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// maxViolations bounds the length of the error that a check returns.
const maxViolations = 20

// CheckOptions says which rules apply. The zero value are those for a message that one of our components made of
// conforming input; the options loosen or tighten them.
type CheckOptions struct {
	// AllowUnreferencedMappings accepts mappings that no location refers to.
	AllowUnreferencedMappings bool
	// AllowAttributeStrings accepts strings that only the resources' and scopes' attributes use: pdata moves those
	// into the string table when it marshals a message.
	AllowAttributeStrings bool
	// AllowMixedShapes accepts profiles that hold samples both with and without values, or timestamps.
	AllowMixedShapes bool
	// AllowTimestampsOutside accepts timestamps outside of the profile's time range.
	AllowTimestampsOutside bool
	// AllowNegativeLines accepts lines, columns and start lines below 0, which the protocol has no meaning for and pprof allows.
	AllowNegativeLines bool
	// AllowNamelessFunctions accepts functions without name, system name and file name, which pprof allows.
	AllowNamelessFunctions bool
	// AllowSeveralValues accepts samples with several values and no timestamps, which the deduplicator sums.
	AllowSeveralValues bool
	// Untidy accepts duplicates, orphans, attribute lists in any order, and several values without timestamps: messages that
	// keep the rules of the protocol and have not gone through one of our components.
	Untidy bool
	// Deduplicated asks for more: samples of equal identity and shape in one profile are one sample, and equal
	// resources, and equal scopes of one resource, are joined.
	Deduplicated bool
}

// Check tells whether pd keeps the rules of OTLP profiles, and has neither duplicates nor orphans in its dictionary.
// The error names each violation by table and index, the first 20 of them. It does not change pd.
func Check(pd pprofile.Profiles) error { return CheckOptions{}.Check(pd) }

// Check is [Check] with these options.
func (o CheckOptions) Check(pd pprofile.Profiles) error {
	if pd == (pprofile.Profiles{}) {
		return errors.New("cannot check a message that was never made")
	}
	ids := newIdentities()
	c := &checker{options: o, dict: pd.Dictionary(), tables: ids.resolve(pd.Dictionary())}
	c.zeroEntries()
	c.references()
	c.resources(pd)
	if !o.Untidy {
		c.duplicates()
		c.orphans(pd)
	}
	return c.err()
}

// checker collects the violations of one message.
type checker struct {
	options    CheckOptions
	dict       pprofile.ProfilesDictionary
	tables     *tables
	violations []error
	unnamed    int
}

// place is where a violation was found: an element of a list.
type place struct {
	list  string
	index int
}

func (p place) String() string { return fmt.Sprintf("%s[%d]", p.list, p.index) }

func (c *checker) report(at place, format string, args ...any) {
	if len(c.violations) == maxViolations {
		c.unnamed++
		return
	}
	c.violations = append(c.violations, fmt.Errorf("%v: %w", at, fmt.Errorf(format, args...)))
}

func (c *checker) err() error {
	if c.unnamed > 0 {
		c.violations = append(c.violations, fmt.Errorf("and %d more violations", c.unnamed))
	}
	return errors.Join(c.violations...)
}

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

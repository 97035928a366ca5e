// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"math"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// resources walks down to the samples. The length of a profile_id needs no rule: pdata refuses any but 0 and 16.
func (c *checker) resources(pd pprofile.Profiles) {
	seen := map[string]int{}
	for i, rp := range pd.ResourceProfiles().All() {
		at := place{"resource_profiles", i}
		c.containerText(at, rp.Resource().Attributes(), rp.SchemaUrl())
		c.uniqueKeys(at, rp.Resource().Attributes())
		c.joined(at, seen, resourceIdentity(rp))
		c.scopes(at.String()+".scope_profiles", rp)
	}
}

func (c *checker) scopes(list string, rp pprofile.ResourceProfiles) {
	seen := map[string]int{}
	for i, sp := range rp.ScopeProfiles().All() {
		at := place{list, i}
		c.containerText(at, sp.Scope().Attributes(), sp.SchemaUrl(), sp.Scope().Name(), sp.Scope().Version())
		c.uniqueKeys(at, sp.Scope().Attributes())
		c.joined(at, seen, scopeIdentity(sp))
		for j, p := range sp.Profiles().All() {
			c.profile(place{at.String() + ".profiles", j}, p)
		}
	}
}

// containerText: all text of a resource or scope is UTF-8.
func (c *checker) containerText(at place, attributes pcommon.Map, texts ...string) {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			c.report(at, "holds text that is not UTF-8: %q", s)
		}
	}
	if !validPairs(attributes, 0) {
		c.report(at, "has an attribute with text that is not UTF-8")
	}
}

// uniqueKeys: no two attributes of a resource or scope have the same key.
func (c *checker) uniqueKeys(owner place, attributes pcommon.Map) {
	seen := make(map[string]struct{}, attributes.Len())
	for key := range attributes.All() {
		if _, ok := seen[key]; ok {
			c.report(owner, "has two attributes with the key %q", key)
		}
		seen[key] = struct{}{}
	}
}

// joined: what is deduplicated has each identity once.
func (c *checker) joined(at place, seen map[string]int, identity string) {
	if other, ok := seen[identity]; ok && c.options.Deduplicated {
		c.report(at, "is equal to element %d and not joined with it", other)
		return
	}
	seen[identity] = at.index
}

func (c *checker) profile(at place, p pprofile.Profile) {
	for _, v := range []struct {
		field string
		pprofile.ValueType
	}{{"sample_type", p.SampleType()}, {"period_type", p.PeriodType()}} {
		c.inRange(at, v.field+".type_strindex", v.TypeStrindex(), stringTable, len(c.tables.strings))
		c.inRange(at, v.field+".unit_strindex", v.UnitStrindex(), stringTable, len(c.tables.strings))
	}
	c.attributes(at, p.AttributeIndices())
	if !utf8.ValidString(p.OriginalPayloadFormat()) {
		c.report(at, "original_payload_format is not UTF-8: %q", p.OriginalPayloadFormat())
	}

	seen := map[string]int{}
	var common shape
	list := at.String() + ".samples"
	for i, s := range p.Samples().All() {
		sampleAt := place{list, i}
		c.sample(sampleAt, s)
		c.times(sampleAt, p, s)
		if common == 0 {
			common = shapeOf(s)
		}
		if found := shapeOf(s); found != 0 && found != common && !c.options.AllowMixedShapes {
			c.report(sampleAt, "holds %v, samples before it %v", found, common)
		}
		if c.options.Deduplicated {
			c.joined(sampleAt, seen, sampleIdentity(c.tables, s, true))
		}
	}
}

func (c *checker) sample(at place, s pprofile.Sample) {
	c.inRange(at, "stack_index", s.StackIndex(), stackTable, len(c.tables.stacks))
	c.inRange(at, "link_index", s.LinkIndex(), linkTable, len(c.tables.links))
	c.attributes(at, s.AttributeIndices())
	for i := 1; i < s.AttributeIndices().Len() && !c.options.Untidy; i++ {
		if before, index := s.AttributeIndices().At(i-1), s.AttributeIndices().At(i); before > index {
			c.report(at, "attribute_indices are not sorted: %d stands before %d", before, index)
			break
		}
	}
	switch values, timestamps := s.Values().Len(), s.TimestampsUnixNano().Len(); {
	case values == 0 && timestamps == 0:
		c.report(at, "has neither values nor timestamps")
	case values != 0 && timestamps != 0 && values != timestamps:
		c.report(at, "has %d values and %d timestamps", values, timestamps)
	case values > 1 && timestamps == 0 && !c.options.Untidy && !c.options.AllowSeveralValues:
		c.report(at, "has %d values without timestamps", values)
	}
}

// times: every timestamp lies in the half-open range that begins with the profile's time and is as long as it lasts.
func (c *checker) times(at place, p pprofile.Profile, s pprofile.Sample) {
	if c.options.AllowTimestampsOutside {
		return
	}
	start, duration := uint64(p.Time()), p.DurationNano()
	for _, timestamp := range s.TimestampsUnixNano().All() {
		// A difference cannot overflow, the end of the range could.
		if timestamp < start || timestamp-start >= duration {
			c.report(at, "timestamp %d is outside of [%d, %d)", timestamp, start, saturatedSum(start, duration))
			return
		}
	}
}

func saturatedSum(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

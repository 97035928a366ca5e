// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"math"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// The names of the dictionary's tables, as in profiles.proto.
const (
	stringTable    = "string_table"
	attributeTable = "attribute_table"
	functionTable  = "function_table"
	mappingTable   = "mapping_table"
	locationTable  = "location_table"
	stackTable     = "stack_table"
	linkTable      = "link_table"
)

// table is one table of the dictionary: its name and the number of each entry.
type table struct {
	name    string
	numbers []int64
}

func (t *tables) all() []table {
	return []table{
		{stringTable, t.strings},
		{attributeTable, t.attributes},
		{functionTable, t.functions},
		{mappingTable, t.mappings},
		{locationTable, t.locations},
		{stackTable, t.stacks},
		{linkTable, t.links},
	}
}

// zeroEntries: entry 0 of each table is present and the zero value.
func (c *checker) zeroEntries() {
	for _, t := range c.tables.all() {
		switch {
		case len(t.numbers) == 0:
			c.report(place{t.name, 0}, "is missing, the zero value belongs here")
		case t.numbers[0] != 0:
			c.report(place{t.name, 0}, "is not the zero value")
		}
	}
}

// duplicates: no two entries of a table have the same content.
func (c *checker) duplicates() {
	for _, t := range c.tables.all() {
		first := make(map[int64]int, len(t.numbers))
		for i, number := range t.numbers {
			if j, ok := first[number]; ok {
				c.report(place{t.name, i}, "has the same content as entry %d", j)
				continue
			}
			first[number] = i
		}
	}
}

// references: every index that an entry of a table holds exists, no entry has two attributes of one key, and text is
// UTF-8, as protobuf wants it.
func (c *checker) references() {
	for i, s := range c.dict.StringTable().All() {
		if !utf8.ValidString(s) {
			c.report(place{stringTable, i}, "is not UTF-8: %q", s)
		}
	}
	for i, kv := range c.dict.AttributeTable().All() {
		at := place{attributeTable, i}
		c.inRange(at, "key_strindex", kv.KeyStrindex(), stringTable, len(c.tables.strings))
		c.inRange(at, "unit_strindex", kv.UnitStrindex(), stringTable, len(c.tables.strings))
		if !validText(kv.Value(), 0) {
			c.report(at, "holds text that is not UTF-8")
		}
	}
	for i, f := range c.dict.FunctionTable().All() {
		at := place{functionTable, i}
		c.inRange(at, "name_strindex", f.NameStrindex(), stringTable, len(c.tables.strings))
		c.inRange(at, "system_name_strindex", f.SystemNameStrindex(), stringTable, len(c.tables.strings))
		c.inRange(at, "filename_strindex", f.FilenameStrindex(), stringTable, len(c.tables.strings))
		c.notNegative(at, "start_line", f.StartLine())
		if i > 0 && f.NameStrindex() == 0 && f.SystemNameStrindex() == 0 && f.FilenameStrindex() == 0 && !c.options.AllowNamelessFunctions {
			c.report(at, "has neither a name, a system name nor a file name")
		}
	}
	for i, m := range c.dict.MappingTable().All() {
		at := place{mappingTable, i}
		c.inRange(at, "filename_strindex", m.FilenameStrindex(), stringTable, len(c.tables.strings))
		c.attributes(at, m.AttributeIndices())
	}
	c.locations()
	for i, s := range c.dict.StackTable().All() {
		for _, index := range s.LocationIndices().All() {
			c.inRange(place{stackTable, i}, "location_indices", index, locationTable, len(c.tables.locations))
		}
	}
}

func (c *checker) locations() {
	for i, l := range c.dict.LocationTable().All() {
		at := place{locationTable, i}
		c.inRange(at, "mapping_index", l.MappingIndex(), mappingTable, len(c.tables.mappings))
		for _, line := range l.Lines().All() {
			c.inRange(at, "function_index", line.FunctionIndex(), functionTable, len(c.tables.functions))
			c.notNegative(at, "line", line.Line())
			c.notNegative(at, "column", line.Column())
		}
		c.attributes(at, l.AttributeIndices())
	}
}

// attributes: every index of the list exists, and no two of the owner's attributes have the same key.
func (c *checker) attributes(owner place, indices pcommon.Int32Slice) {
	keys := make(map[int64]int32, indices.Len())
	for _, index := range indices.All() {
		c.inRange(owner, "attribute_indices", index, attributeTable, len(c.tables.attributes))
		if !inRange(index, len(c.tables.attributes)) {
			continue
		}
		key := c.dict.AttributeTable().At(int(index)).KeyStrindex()
		number := ref(c.tables.strings, key)
		if other, ok := keys[number]; ok {
			c.report(owner, "attributes %d and %d have the same key %q", other, index, c.text(key))
			continue
		}
		keys[number] = index
	}
}

func (c *checker) inRange(at place, field string, index int32, table string, length int) {
	if !inRange(index, length) {
		c.report(at, "%s %d is out of range: %s has %d entries", field, index, table, length)
	}
}

func (c *checker) notNegative(at place, field string, n int64) {
	if n < 0 && !c.options.AllowNegativeLines {
		c.report(at, "%s %d is negative", field, n)
	}
}

// text returns the string at index, for messages.
func (c *checker) text(index int32) string {
	if !inRange(index, len(c.tables.strings)) {
		return ""
	}
	return c.dict.StringTable().At(int(index))
}

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

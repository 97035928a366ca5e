// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
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

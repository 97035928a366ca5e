// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// join enters entry i into the index and sets its representative: the first entry of this hash that is equal.
func (c *Compactor) join(table *compaction, i int, h uint64, equal func(a, b int) bool) {
	entry, slot := c.index.first(h)
	for ; entry >= 0; entry, slot = c.index.next(h, slot) {
		if equal(int(entry), i) {
			table.first[i] = entry
			return
		}
	}
	c.index.insert(h, slot, i)
	table.first[i] = int32(i)
}

func (c *Compactor) joinStrings() {
	table := c.source.StringTable()
	c.index.reset(table.Len())
	c.join(&c.strings, 0, hashString(""), nil)
	at := func(i int) string {
		if i == 0 {
			return ""
		}
		return table.At(i)
	}
	for i := 1; i < table.Len(); i++ {
		c.join(&c.strings, i, hashString(table.At(i)), func(a, b int) bool { return at(a) == at(b) })
	}
}

func (c *Compactor) joinLinks() {
	table := c.source.LinkTable()
	c.index.reset(table.Len())
	at := func(i int) Link {
		if i == 0 {
			return Link{}
		}
		return Link{TraceID: table.At(i).TraceID(), SpanID: table.At(i).SpanID()}
	}
	for i := range c.links.first {
		c.join(&c.links, i, at(i).hash(), func(a, b int) bool { return at(a) == at(b) })
	}
}

// functionAt returns a function whose names are representatives.
func (c *Compactor) functionAt(i int) (f Function, err error) {
	if i == 0 {
		return Function{}, nil
	}
	from := c.source.FunctionTable().At(i)
	f.StartLine = from.StartLine()
	if f.Name = c.strings.find(from.NameStrindex()); f.Name < 0 {
		return f, c.strings.fault(from.NameStrindex())
	}
	if f.SystemName = c.strings.find(from.SystemNameStrindex()); f.SystemName < 0 {
		return f, c.strings.fault(from.SystemNameStrindex())
	}
	if f.Filename = c.strings.find(from.FilenameStrindex()); f.Filename < 0 {
		return f, c.strings.fault(from.FilenameStrindex())
	}
	return f, nil
}

func (c *Compactor) joinFunctions() {
	c.index.reset(len(c.functions.first))
	equal := func(a, b int) bool {
		f, _ := c.functionAt(a)
		g, _ := c.functionAt(b)
		return f == g
	}
	for i := range c.functions.first {
		f, err := c.functionAt(i)
		if err != nil {
			c.functions.setBroken(i, err)
			continue
		}
		c.join(&c.functions, i, f.hash(), equal)
	}
}

// attributeAt returns an attribute whose key and unit are representatives.
func (c *Compactor) attributeAt(i int) (a Attribute, err error) {
	if i == 0 {
		return Attribute{}, nil
	}
	from := c.source.AttributeTable().At(i)
	key, unit := c.strings.find(from.KeyStrindex()), c.strings.find(from.UnitStrindex())
	if key < 0 {
		return a, c.strings.fault(from.KeyStrindex())
	}
	if unit < 0 {
		return a, c.strings.fault(from.UnitStrindex())
	}
	return newAttribute(key, unit, from.Value()), nil
}

func (c *Compactor) joinAttributes() {
	c.index.reset(len(c.attributes.first))
	c.dropped = scratch.Zeroed(c.dropped, len(c.attributes.first))
	equal := func(a, b int) bool {
		x, _ := c.attributeAt(a)
		y, _ := c.attributeAt(b)
		return equalAttributes(&x, &y)
	}
	for i := range c.attributes.first {
		a, err := c.attributeAt(i)
		if err != nil {
			c.attributes.setBroken(i, err)
			continue
		}
		c.join(&c.attributes, i, a.hash(), equal)
		if i > 0 && len(c.dropKeys) > 0 {
			c.dropped[i] = c.dropKeys[c.source.StringTable().At(int(c.source.AttributeTable().At(i).KeyStrindex()))]
		}
	}
}

// attributeSet appends the set that a list stands for: representatives, sorted, without entry 0, which says nothing.
func (c *Compactor) attributeSet(dst []int32, list pcommon.Int32Slice, drop bool) ([]int32, error) {
	start := len(dst)
	for j := range list.Len() {
		i := list.At(j)
		first := c.attributes.find(i)
		if first < 0 {
			return dst, c.attributes.fault(i)
		}
		if first != 0 && !(drop && c.dropped[first]) {
			dst = append(dst, first)
		}
	}
	dst = SortSet(dst, start)
	return dst, c.checkKeys(dst[start:])
}

// manyAttributes is the length of a list above which its keys are sorted to find one that stands twice.
const manyAttributes = 16

// checkKeys looks for a key that stands twice in a set.
func (c *Compactor) checkKeys(set []int32) error {
	if len(set) < 2 {
		return nil
	}
	keys := c.other[:0]
	for _, a := range set {
		keys = append(keys, c.strings.find(c.source.AttributeTable().At(int(a)).KeyStrindex()))
	}
	c.other = keys
	if len(keys) > manyAttributes {
		slices.Sort(keys)
		for i := 1; i < len(keys); i++ {
			if keys[i] == keys[i-1] {
				return c.keyTwice(keys[i])
			}
		}
		return nil
	}
	for i := range keys {
		if slices.Contains(keys[:i], keys[i]) {
			return c.keyTwice(keys[i])
		}
	}
	return nil
}

// DuplicateKeyError tells of a key that stands twice, with different values, among the attributes of one owner.
type DuplicateKeyError struct{ Key string }

func (e *DuplicateKeyError) Error() string {
	return fmt.Sprintf("attribute %q stands twice, with different values", e.Key)
}

func (c *Compactor) keyTwice(key int32) error {
	if key == 0 {
		return &DuplicateKeyError{}
	}
	return &DuplicateKeyError{Key: c.source.StringTable().At(int(key))}
}

func equalsList(set []int32, list pcommon.Int32Slice) bool {
	if len(set) != list.Len() {
		return false
	}
	for i := range set {
		if set[i] != list.At(i) {
			return false
		}
	}
	return true
}

// joinMappings and joinLocations hash attributes as the sets that they stand for.
func (c *Compactor) joinMappings() {
	c.index.reset(len(c.mappings.first))
	table := c.source.MappingTable()
	for i := range c.mappings.first {
		m, err := c.mappingAt(i)
		if err != nil {
			c.mappings.setBroken(i, err)
			continue
		}
		c.set = c.set[:0]
		if i > 0 {
			if c.set, err = c.attributeSet(c.set, table.At(i).AttributeIndices(), false); err != nil {
				c.mappings.setBroken(i, err)
				continue
			}
		}
		c.join(&c.mappings, i, m.hash(c.set), func(a, b int) bool {
			n, _ := c.mappingAt(a)
			return n == m && (a == 0 && len(c.set) == 0 || a > 0 && c.equalSets(table.At(a).AttributeIndices(), c.set))
		})
	}
}

func (c *Compactor) mappingAt(i int) (m Mapping, err error) {
	if i == 0 {
		return Mapping{}, nil
	}
	from := c.source.MappingTable().At(i)
	m = Mapping{Start: from.MemoryStart(), Limit: from.MemoryLimit(), Offset: from.FileOffset()}
	if m.Filename = c.strings.find(from.FilenameStrindex()); m.Filename < 0 {
		return m, c.strings.fault(from.FilenameStrindex())
	}
	return m, nil
}

func (c *Compactor) equalSets(list pcommon.Int32Slice, set []int32) bool {
	if list.Len() == 0 || len(set) == 0 {
		return list.Len() == len(set)
	}
	other, _ := c.attributeSet(nil, list, false)
	return slices.Equal(other, set)
}

func (c *Compactor) joinLocations() {
	c.index.reset(len(c.locations.first))
	c.join(&c.locations, 0, Location{}.hash(nil, nil), nil)
	table := c.source.LocationTable()
	equal := func(a, b int) bool { return c.equalLocations(a, b) }
	for i := 1; i < table.Len(); i++ {
		h, err := c.hashLocation(table.At(i))
		if err != nil {
			c.locations.setBroken(i, err)
			continue
		}
		c.join(&c.locations, i, h, equal)
	}
}

// hashLocation checks what a location refers to and hashes it by value.
func (c *Compactor) hashLocation(from pprofile.Location) (h uint64, err error) {
	l := Location{Address: from.Address(), Mapping: c.mappings.find(from.MappingIndex())}
	if l.Mapping < 0 {
		return 0, c.mappings.fault(from.MappingIndex())
	}
	lines := from.Lines()
	h = l.hashStart(lines.Len())
	for j := range lines.Len() {
		line := lines.At(j)
		function := c.functions.find(line.FunctionIndex())
		if function < 0 {
			return 0, c.functions.fault(line.FunctionIndex())
		}
		h = hashLine(h, &Line{Function: function, Line: line.Line(), Column: line.Column()})
	}
	c.set = c.set[:0]
	if attributes := from.AttributeIndices(); attributes.Len() > 0 {
		if c.set, err = c.attributeSet(c.set, attributes, false); err != nil {
			return 0, err
		}
	}
	return hashIndices(h, c.set), nil
}

// equalLocations compares two sound locations by value, b not being entry 0.
func (c *Compactor) equalLocations(a, b int) bool {
	y := c.source.LocationTable().At(b)
	set, _ := c.attributeSet(nil, y.AttributeIndices(), false)
	if a == 0 {
		return y.Address() == 0 && c.mappings.find(y.MappingIndex()) == 0 && y.Lines().Len() == 0 && len(set) == 0
	}
	x := c.source.LocationTable().At(a)
	if x.Address() != y.Address() || c.mappings.find(x.MappingIndex()) != c.mappings.find(y.MappingIndex()) ||
		x.Lines().Len() != y.Lines().Len() || !c.equalSets(x.AttributeIndices(), set) {
		return false
	}
	for j := range x.Lines().Len() {
		p, q := x.Lines().At(j), y.Lines().At(j)
		if c.functions.find(p.FunctionIndex()) != c.functions.find(q.FunctionIndex()) ||
			p.Line() != q.Line() || p.Column() != q.Column() {
			return false
		}
	}
	return true
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import "go.opentelemetry.io/collector/pdata/pcommon"

// joinStacks finds equal stacks among those that are used and marks their locations. It reports false if one is broken.
func (c *Compactor) joinStacks() (sound bool) {
	sound = true
	table := c.source.StackTable()
	c.index.reset(table.Len())
	c.join(&c.stacks, 0, hashIndices(0, nil), nil)
	equal := func(a, b int) bool { return c.equalStacks(a, b) }
	for i := 1; i < table.Len(); i++ {
		c.stacks.first[i] = int32(i)
		if !c.stacks.used[i] {
			continue
		}
		h, err := c.hashStack(table.At(i).LocationIndices())
		if err != nil {
			c.stacks.setBroken(i, err)
			sound = false
			continue
		}
		c.joinSoon(&c.stacks, i, h, equal)
	}
	c.joinRest(&c.stacks, equal)
	for i, first := range c.stacks.first {
		if first >= 0 && c.stacks.used[i] {
			c.stacks.used[first] = true
		}
	}
	return sound
}

// hashStack hashes the representatives of the locations as hashIndices would, and marks them as used.
func (c *Compactor) hashStack(list pcommon.Int32Slice) (uint64, error) {
	first, used := c.locations.first, c.locations.used
	n := list.Len()
	h := mix(0, uint64(n))
	var before uint64
	for j := range n {
		i := list.At(j)
		if uint(i) >= uint(len(first)) || first[i] < 0 {
			return 0, c.locations.fault(i)
		}
		location := first[i]
		used[location] = true
		if j&1 == 0 {
			before = uint64(uint32(location))
			continue
		}
		h = mix(h, before|uint64(uint32(location))<<32)
	}
	if n&1 == 1 {
		h = mix(h, before)
	}
	if n > 0 {
		h = finish(h)
	}
	return h, nil
}

func (c *Compactor) equalStacks(a, b int) bool {
	table := c.source.StackTable()
	y := table.At(b).LocationIndices()
	if a == 0 {
		return y.Len() == 0
	}
	x := table.At(a).LocationIndices()
	if x.Len() != y.Len() {
		return false
	}
	for j := range x.Len() {
		if c.locations.first[x.At(j)] != c.locations.first[y.At(j)] {
			return false
		}
	}
	return true
}

// spread marks what the used entries use, from the locations down to the strings. All of it is sound.
func (c *Compactor) spread() {
	locations := c.source.LocationTable()
	for i := 1; i < locations.Len(); i++ {
		if !c.locations.keeps(i) {
			continue
		}
		location := locations.At(i)
		c.mappings.used[c.mappings.first[location.MappingIndex()]] = true
		lines := location.Lines()
		for j := range lines.Len() {
			c.functions.used[c.functions.first[lines.At(j).FunctionIndex()]] = true
		}
		c.spreadList(location.AttributeIndices())
	}
	mappings := c.source.MappingTable()
	for i := 1; i < mappings.Len(); i++ {
		if c.mappings.keeps(i) {
			c.spreadString(mappings.At(i).FilenameStrindex())
			c.spreadList(mappings.At(i).AttributeIndices())
		}
	}
	functions := c.source.FunctionTable()
	for i := 1; i < functions.Len(); i++ {
		if c.functions.keeps(i) {
			function := functions.At(i)
			c.spreadString(function.NameStrindex())
			c.spreadString(function.SystemNameStrindex())
			c.spreadString(function.FilenameStrindex())
		}
	}
	attributes := c.source.AttributeTable()
	for i := 1; i < attributes.Len(); i++ {
		if c.attributes.keeps(i) {
			c.spreadString(attributes.At(i).KeyStrindex())
			c.spreadString(attributes.At(i).UnitStrindex())
		}
	}
}

func (c *Compactor) spreadString(i int32) { c.strings.used[c.strings.first[i]] = true }

func (c *Compactor) spreadList(list pcommon.Int32Slice) {
	if list.Len() == 0 {
		return
	}
	set, same := c.AppendSet(c.set[:0], list, false)
	c.set = set
	if !same {
		c.changed = true
	}
	for _, a := range set {
		c.attributes.used[a] = true
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"cmp"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// joinStacks finds equal stacks among the used ones, and marks their locations. The error is that of the first invalid one.
func (c *Compactor) joinStacks() (first error) {
	table := c.source.StackTable()
	c.index.reset(table.Len())
	c.join(&c.tables[Stacks], 0, hashIndices(0, nil), nil)
	equal := func(a, b int) bool { return c.equalStacks(a, b) }
	for i := 1; i < table.Len(); i++ {
		c.tables[Stacks].first[i] = int32(i)
		if !c.tables[Stacks].used[i] {
			continue
		}
		h, err := c.hashStack(table.At(i).LocationIndices())
		if err != nil {
			c.tables[Stacks].setInvalid(i, err)
			first = cmp.Or(first, c.tables[Stacks].fault(int32(i)))
			continue
		}
		c.joinBatched(&c.tables[Stacks], i, h, equal)
	}
	c.flushJoins(&c.tables[Stacks], equal)
	return first
}

// hashStack hashes the representatives of the locations like hashIndices, and marks them as used.
func (c *Compactor) hashStack(list pcommon.Int32Slice) (uint64, error) {
	first, used := c.tables[Locations].first, c.tables[Locations].used
	n := list.Len()
	h := mix(0, uint64(n))
	j := 0
	for ; j+1 < n; j += 2 {
		x, y := uint(uint32(list.At(j))), uint(uint32(list.At(j+1)))
		if x >= uint(len(first)) || y >= uint(len(first)) || first[x]|first[y] < 0 {
			return 0, c.stackFault(list)
		}
		a, b := first[x], first[y]
		used[a], used[b] = true, true
		h = mix(h, uint64(uint32(a))|uint64(uint32(b))<<32)
	}
	if j < n {
		a := c.tables[Locations].find(list.At(j))
		if a < 0 {
			return 0, c.stackFault(list)
		}
		used[a] = true
		h = mix(h, uint64(uint32(a)))
	}
	if n > 0 {
		h = finish(h)
	}
	return h, nil
}

// stackFault returns the error of the first invalid location of a stack.
func (c *Compactor) stackFault(list pcommon.Int32Slice) error {
	locations := &c.tables[Locations]
	for _, i := range list.All() {
		if locations.find(i) < 0 {
			return locations.fault(i)
		}
	}
	return nil
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
		if c.tables[Locations].first[x.At(j)] != c.tables[Locations].first[y.At(j)] {
			return false
		}
	}
	return true
}

// markReachable marks everything to which used entries refer, from stacks to strings. All these references are valid.
func (c *Compactor) markReachable() {
	if c.allUsed() {
		return
	}
	for _, t := range topDown {
		table := &c.tables[t]
		table.markFirst()
		if t != Stacks { // joinStacks has marked their locations
			c.use.Entries(c.source, t, 1, len(table.used), table.used)
		}
	}
}

// allUsed reports whether all entries are used and valid, no two are equal, and all lists are sorted sets. An entry is
// used if a sample, a profile or another entry refers to it: all entries of the tables above are used.
func (c *Compactor) allUsed() bool {
	if c.unordered {
		return false
	}
	for t := range c.tables {
		table := &c.tables[t]
		if table.twice || len(table.faults) > 0 {
			return false
		}
		for i := 1; i < len(table.used); i++ {
			if !table.used[i] && !table.referred[i] {
				return false
			}
		}
	}
	for t := range c.tables {
		for i := range c.tables[t].used {
			c.tables[t].used[i] = true
		}
	}
	return true
}

// markFirst marks the representatives of used entries, and no others.
func (c *tableState) markFirst() {
	if !c.twice {
		return
	}
	for i, first := range c.first {
		if c.used[i] && first != int32(i) {
			c.used[i], c.used[first] = false, true
		}
	}
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

func (c *Compactor) joinLocations() {
	c.longSets = nil
	c.index.reset(len(c.tables[Locations].first))
	c.join(&c.tables[Locations], 0, Location{}.hash(nil, nil), nil)
	table := c.source.LocationTable()
	equal := func(a, b int) bool { return c.equalLocations(a, b) }
	for i := 1; i < table.Len(); i++ {
		h, err := c.hashLocation(table.At(i))
		if err != nil {
			c.tables[Locations].setInvalid(i, err)
			continue
		}
		c.joinBatched(&c.tables[Locations], i, h, equal)
	}
	c.flushJoins(&c.tables[Locations], equal)
}

// hashLocation checks the entries to which a location refers, and hashes the location by value.
func (c *Compactor) hashLocation(from pprofile.Location) (h uint64, err error) {
	l := Location{Address: from.Address(), Mapping: c.tables[Mappings].get(from.MappingIndex(), &err)}
	if err != nil {
		return 0, err
	}
	c.tables[Mappings].referred[l.Mapping] = true
	lines := from.Lines()
	h = l.hashStart(lines.Len())
	negative := int64(0) // below 0 if any number is
	for j := range lines.Len() {
		line := lines.At(j)
		function := c.tables[Functions].find(line.FunctionIndex())
		if function < 0 {
			return 0, c.tables[Functions].fault(line.FunctionIndex())
		}
		c.tables[Functions].referred[function] = true
		l := Line{Function: function, Line: line.Line(), Column: line.Column()}
		negative |= l.Line | l.Column
		h = hashLine(h, &l)
	}
	c.NegativeLines = c.NegativeLines || negative < 0
	c.set = c.set[:0]
	if attributes := from.AttributeIndices(); attributes.Len() > 0 {
		if c.set, err = c.attributeSet(c.set, attributes, false); err != nil {
			return 0, err
		}
		c.referToSet(attributes)
	}
	return hashIndices(h, c.set), nil
}

// equalLocations compares two valid locations by value. b must not be entry 0.
func (c *Compactor) equalLocations(a, b int) bool {
	y := c.source.LocationTable().At(b)
	set := c.setOf(b, y.AttributeIndices())
	if a == 0 {
		return y.Address() == 0 && c.tables[Mappings].find(y.MappingIndex()) == 0 && y.Lines().Len() == 0 && len(set) == 0
	}
	x := c.source.LocationTable().At(a)
	if x.Address() != y.Address() || c.tables[Mappings].find(x.MappingIndex()) != c.tables[Mappings].find(y.MappingIndex()) ||
		x.Lines().Len() != y.Lines().Len() || !slices.Equal(c.setOf(a, x.AttributeIndices()), set) {
		return false
	}
	for j := range x.Lines().Len() {
		p, q := x.Lines().At(j), y.Lines().At(j)
		if c.tables[Functions].find(p.FunctionIndex()) != c.tables[Functions].find(q.FunctionIndex()) ||
			p.Line() != q.Line() || p.Column() != q.Column() {
			return false
		}
	}
	return true
}

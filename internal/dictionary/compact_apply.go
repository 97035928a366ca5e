// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// zeroEntriesStand tells whether each table begins with its zero value.
func (c *Compactor) zeroEntriesStand() bool {
	s := c.source
	return s.StringTable().Len() > 0 && s.StringTable().At(0) == "" &&
		s.FunctionTable().Len() > 0 && isZeroFunction(s.FunctionTable().At(0)) &&
		s.MappingTable().Len() > 0 && isZeroMapping(s.MappingTable().At(0)) &&
		s.LocationTable().Len() > 0 && isZeroLocation(s.LocationTable().At(0)) &&
		s.StackTable().Len() > 0 && s.StackTable().At(0).LocationIndices().Len() == 0 &&
		s.AttributeTable().Len() > 0 && isZeroAttribute(s.AttributeTable().At(0)) &&
		s.LinkTable().Len() > 0 && isZeroLink(s.LinkTable().At(0))
}

func isZeroFunction(f pprofile.Function) bool {
	return f.NameStrindex() == 0 && f.SystemNameStrindex() == 0 && f.FilenameStrindex() == 0 && f.StartLine() == 0
}

func isZeroMapping(m pprofile.Mapping) bool {
	return m.MemoryStart() == 0 && m.MemoryLimit() == 0 && m.FileOffset() == 0 && m.FilenameStrindex() == 0 &&
		m.AttributeIndices().Len() == 0
}

func isZeroLocation(l pprofile.Location) bool {
	return l.MappingIndex() == 0 && l.Address() == 0 && l.Lines().Len() == 0 && l.AttributeIndices().Len() == 0
}

func isZeroAttribute(a pprofile.KeyValueAndUnit) bool {
	return a.KeyStrindex() == 0 && a.UnitStrindex() == 0 && a.Value().Type() == pcommon.ValueTypeEmpty
}

func isZeroLink(l pprofile.Link) bool { return l.TraceID().IsEmpty() && l.SpanID().IsEmpty() }

// Apply rewrites the tables in place. What refers to them must be rewritten, too, with the New methods.
func (c *Compactor) Apply() {
	c.applyStrings()
	c.applyFunctions()
	c.applyMappings()
	c.applyLocations()
	c.applyStacks()
	c.applyAttributes()
	c.applyLinks()
}

// dropper returns a function that tells of one entry after the other whether it goes.
func dropper[T any](table *compaction) func(T) bool {
	i := -1
	return func(T) bool {
		i++
		return !table.keeps(i)
	}
}

func (c *Compactor) applyStrings() {
	table := c.source.StringTable()
	if table.Len() == 0 {
		table.Append("")
	}
	table.SetAt(0, "")
	if c.strings.kept < table.Len() {
		table.RemoveIf(dropper[string](&c.strings))
	}
}

func (c *Compactor) applyFunctions() {
	table := c.source.FunctionTable()
	if table.Len() == 0 {
		table.AppendEmpty()
	}
	pprofile.NewFunction().MoveTo(table.At(0))
	for i := 1; i < table.Len(); i++ {
		if c.functions.keeps(i) {
			f := table.At(i)
			f.SetNameStrindex(c.strings.to[f.NameStrindex()])
			f.SetSystemNameStrindex(c.strings.to[f.SystemNameStrindex()])
			f.SetFilenameStrindex(c.strings.to[f.FilenameStrindex()])
		}
	}
	if c.functions.kept < table.Len() {
		table.RemoveIf(dropper[pprofile.Function](&c.functions))
	}
}

func (c *Compactor) applyMappings() {
	table := c.source.MappingTable()
	if table.Len() == 0 {
		table.AppendEmpty()
	}
	pprofile.NewMapping().MoveTo(table.At(0))
	for i := 1; i < table.Len(); i++ {
		if c.mappings.keeps(i) {
			m := table.At(i)
			m.SetFilenameStrindex(c.strings.to[m.FilenameStrindex()])
			c.RewriteAttributes(m.AttributeIndices(), false)
		}
	}
	if c.mappings.kept < table.Len() {
		table.RemoveIf(dropper[pprofile.Mapping](&c.mappings))
	}
}

func (c *Compactor) applyLocations() {
	table := c.source.LocationTable()
	if table.Len() == 0 {
		table.AppendEmpty()
	}
	pprofile.NewLocation().MoveTo(table.At(0))
	for i := 1; i < table.Len(); i++ {
		if !c.locations.keeps(i) {
			continue
		}
		l := table.At(i)
		l.SetMappingIndex(c.mappings.to[l.MappingIndex()])
		lines := l.Lines()
		for j := range lines.Len() {
			line := lines.At(j)
			line.SetFunctionIndex(c.functions.to[line.FunctionIndex()])
		}
		c.RewriteAttributes(l.AttributeIndices(), false)
	}
	if c.locations.kept < table.Len() {
		table.RemoveIf(dropper[pprofile.Location](&c.locations))
	}
}

func (c *Compactor) applyStacks() {
	table := c.source.StackTable()
	if table.Len() == 0 {
		table.AppendEmpty()
	}
	pprofile.NewStack().MoveTo(table.At(0))
	for i := 1; i < table.Len(); i++ {
		if !c.stacks.keeps(i) {
			continue
		}
		list := table.At(i).LocationIndices()
		for j := range list.Len() {
			list.SetAt(j, c.locations.to[list.At(j)])
		}
	}
	if c.stacks.kept < table.Len() {
		table.RemoveIf(dropper[pprofile.Stack](&c.stacks))
	}
}

func (c *Compactor) applyAttributes() {
	table := c.source.AttributeTable()
	if table.Len() == 0 {
		table.AppendEmpty()
	}
	pprofile.NewKeyValueAndUnit().MoveTo(table.At(0))
	// The lists of attributes were rewritten before: their checks needed the keys as they were.
	for i := 1; i < table.Len(); i++ {
		if c.attributes.keeps(i) {
			a := table.At(i)
			a.SetKeyStrindex(c.strings.to[a.KeyStrindex()])
			a.SetUnitStrindex(c.strings.to[a.UnitStrindex()])
		}
	}
	if c.attributes.kept < table.Len() {
		table.RemoveIf(dropper[pprofile.KeyValueAndUnit](&c.attributes))
	}
}

func (c *Compactor) applyLinks() {
	table := c.source.LinkTable()
	if table.Len() == 0 {
		table.AppendEmpty()
	}
	pprofile.NewLink().MoveTo(table.At(0))
	if c.links.kept < table.Len() {
		table.RemoveIf(dropper[pprofile.Link](&c.links))
	}
}

// RewriteAttributes rewrites a list as the set that it stands for, with the new indices, before Apply.
func (c *Compactor) RewriteAttributes(list pcommon.Int32Slice, drop bool) {
	if list.Len() == 0 {
		return
	}
	c.set, _ = c.AppendSet(c.set[:0], list, drop)
	for j, a := range c.set {
		c.set[j] = c.attributes.to[a]
	}
	list.FromRaw(c.set)
}

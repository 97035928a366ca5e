// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// write fills an empty dictionary with the chosen entries. The profiles that need them are to be rewritten then.
func (s *selection) write(d pprofile.ProfilesDictionary) {
	for _, table := range s.tables() {
		table.number()
	}
	from := s.source
	texts := make([]string, 1, len(s.strings.entries)+1)
	for _, i := range s.strings.entries {
		texts = append(texts, from.StringTable().At(int(i)))
	}
	d.StringTable().FromRaw(texts)
	copyEntries(&s.functions, from.FunctionTable(), d.FunctionTable(), func(f pprofile.Function) {
		f.SetNameStrindex(s.strings.to[f.NameStrindex()])
		f.SetSystemNameStrindex(s.strings.to[f.SystemNameStrindex()])
		f.SetFilenameStrindex(s.strings.to[f.FilenameStrindex()])
	})
	copyEntries(&s.mappings, from.MappingTable(), d.MappingTable(), func(m pprofile.Mapping) {
		m.SetFilenameStrindex(s.strings.to[m.FilenameStrindex()])
		s.attributes.rewrite(m.AttributeIndices())
	})
	copyEntries(&s.locations, from.LocationTable(), d.LocationTable(), s.rewriteLocation)
	copyEntries(&s.stacks, from.StackTable(), d.StackTable(), func(stack pprofile.Stack) {
		s.locations.rewrite(stack.LocationIndices())
	})
	copyEntries(&s.attributes, from.AttributeTable(), d.AttributeTable(), func(a pprofile.KeyValueAndUnit) {
		a.SetKeyStrindex(s.strings.to[a.KeyStrindex()])
		a.SetUnitStrindex(s.strings.to[a.UnitStrindex()])
	})
	copyEntries(&s.links, from.LinkTable(), d.LinkTable(), func(pprofile.Link) {})
}

// table is a table of a dictionary.
type table[T any] interface {
	At(i int) T
	AppendEmpty() T
	EnsureCapacity(n int)
}

// copyEntries appends a zero value and the chosen entries, each rewritten.
func copyEntries[T interface{ CopyTo(T) }](c *choice, from, to table[T], rewrite func(T)) {
	to.EnsureCapacity(len(c.entries) + 1)
	to.AppendEmpty()
	for _, i := range c.entries {
		entry := to.AppendEmpty()
		from.At(int(i)).CopyTo(entry)
		rewrite(entry)
	}
}

func (c *choice) rewrite(list pcommon.Int32Slice) {
	for j := range list.Len() {
		list.SetAt(j, c.to[list.At(j)])
	}
}

func (s *selection) rewriteLocation(l pprofile.Location) {
	l.SetMappingIndex(s.mappings.to[l.MappingIndex()])
	s.attributes.rewrite(l.AttributeIndices())
	lines := l.Lines()
	for j := range lines.Len() {
		line := lines.At(j)
		line.SetFunctionIndex(s.functions.to[line.FunctionIndex()])
	}
}

// rewriteHeader gives a profile, but for its samples, its references to the new dictionary.
func (s *selection) rewriteHeader(profile pprofile.Profile) {
	for _, v := range [...]pprofile.ValueType{profile.SampleType(), profile.PeriodType()} {
		v.SetTypeStrindex(s.strings.to[v.TypeStrindex()])
		v.SetUnitStrindex(s.strings.to[v.UnitStrindex()])
	}
	s.attributes.rewrite(profile.AttributeIndices())
}

func (s *selection) rewriteSample(sample pprofile.Sample) {
	sample.SetStackIndex(s.stacks.to[sample.StackIndex()])
	sample.SetLinkIndex(s.links.to[sample.LinkIndex()])
	s.attributes.rewrite(sample.AttributeIndices())
}

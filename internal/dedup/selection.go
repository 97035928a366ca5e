// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// selection chooses the entries of a dictionary that a part of the message needs, each with all that it refers to, and
// writes them for one part after the other. Its cost is linear in what the parts hold: an entry that is chosen already
// is not looked at again.
//
// Entry 0 is the zero value in any dictionary, whatever stands there; it is not chosen, but in every part.
type selection struct {
	source pprofile.ProfilesDictionary

	strings, functions, mappings, locations, stacks, attributes, links choice

	// bytes is the size in protobuf of all that was chosen, over all parts; fresh is that of what no part had before.
	bytes, fresh int
	// err is the first reference that leads nowhere, or attribute that is nested too deep. A canonical message has neither.
	err error
}

// choice is the entries of one table that are chosen.
type choice struct {
	table   string
	state   []uint8
	entries []int32
	// to has the new index of each entry, once it is numbered.
	to []int32
}

const (
	// inPart says that an entry is chosen for the part at hand, hadBefore that an earlier part has it.
	inPart = 1 << iota
	hadBefore
)

func newSelection(source pprofile.ProfilesDictionary) selection {
	table := func(name string, n int) choice {
		return choice{table: name, state: make([]uint8, n), to: make([]int32, max(n, 1))}
	}
	return selection{
		source:     source,
		strings:    table("string", source.StringTable().Len()),
		functions:  table("function", source.FunctionTable().Len()),
		mappings:   table("mapping", source.MappingTable().Len()),
		locations:  table("location", source.LocationTable().Len()),
		stacks:     table("stack", source.StackTable().Len()),
		attributes: table("attribute", source.AttributeTable().Len()),
		links:      table("link", source.LinkTable().Len()),
	}
}

func (s *selection) tables() [7]*choice {
	return [...]*choice{&s.strings, &s.functions, &s.mappings, &s.locations, &s.stacks, &s.attributes, &s.links}
}

// choose takes an entry into the part and tells whether it was not there.
func (s *selection) choose(c *choice, i int32) bool {
	if i == 0 {
		return false
	}
	if i < 0 || int(i) >= len(c.state) {
		if s.err == nil {
			s.err = &dictionary.IndexError{Table: c.table, Index: i, Len: len(c.state)}
		}
		return false
	}
	if c.state[i]&inPart != 0 {
		return false
	}
	c.state[i] |= inPart
	c.entries = append(c.entries, i)
	return true
}

// count adds an entry of this size, without its tag and length.
func (s *selection) count(c *choice, i int32, size int) {
	s.add(fieldSize(size), c.state[i]&hadBefore == 0)
}

func (s *selection) add(bytes int, fresh bool) {
	s.bytes += bytes
	if fresh {
		s.fresh += bytes
	}
}

func (s *selection) addString(i int32) {
	if s.choose(&s.strings, i) {
		s.count(&s.strings, i, len(s.source.StringTable().At(int(i))))
	}
}

func (s *selection) addFunction(i int32) {
	if !s.choose(&s.functions, i) {
		return
	}
	f := s.source.FunctionTable().At(int(i))
	s.count(&s.functions, i, functionSize(f))
	s.addString(f.NameStrindex())
	s.addString(f.SystemNameStrindex())
	s.addString(f.FilenameStrindex())
}

func (s *selection) addMapping(i int32) {
	if !s.choose(&s.mappings, i) {
		return
	}
	m := s.source.MappingTable().At(int(i))
	s.count(&s.mappings, i, mappingSize(m))
	s.addString(m.FilenameStrindex())
	s.addAttributes(m.AttributeIndices())
}

func (s *selection) addLocation(i int32) {
	if !s.choose(&s.locations, i) {
		return
	}
	l := s.source.LocationTable().At(int(i))
	s.count(&s.locations, i, locationSize(l))
	s.addMapping(l.MappingIndex())
	s.addAttributes(l.AttributeIndices())
	lines := l.Lines()
	for j := range lines.Len() {
		s.addFunction(lines.At(j).FunctionIndex())
	}
}

func (s *selection) addStack(i int32) {
	if !s.choose(&s.stacks, i) {
		return
	}
	list := s.source.StackTable().At(int(i)).LocationIndices()
	s.count(&s.stacks, i, indicesSize(list))
	for j := range list.Len() {
		s.addLocation(list.At(j))
	}
}

func (s *selection) addLink(i int32) {
	if s.choose(&s.links, i) {
		s.count(&s.links, i, linkSize(s.source.LinkTable().At(int(i))))
	}
}

func (s *selection) addAttributes(list pcommon.Int32Slice) {
	for j := range list.Len() {
		i := list.At(j)
		if !s.choose(&s.attributes, i) {
			continue
		}
		a := s.source.AttributeTable().At(int(i))
		if s.err == nil && attributevalue.TooDeep(a.Value()) {
			s.err = s.tooDeep(a)
		}
		s.count(&s.attributes, i, attributeSize(a))
		s.addString(a.KeyStrindex())
		s.addString(a.UnitStrindex())
	}
}

func (s *selection) tooDeep(a pprofile.KeyValueAndUnit) error {
	key := ""
	if i := int(a.KeyStrindex()); i > 0 && i < s.source.StringTable().Len() {
		key = s.source.StringTable().At(i)
	}
	return &attributevalue.TooDeepError{Key: key}
}

// addHeader adds what a profile refers to, but for its samples.
func (s *selection) addHeader(profile pprofile.Profile) {
	for _, v := range [...]pprofile.ValueType{profile.SampleType(), profile.PeriodType()} {
		s.addString(v.TypeStrindex())
		s.addString(v.UnitStrindex())
	}
	s.addAttributes(profile.AttributeIndices())
}

// addSample adds what a sample refers to.
func (s *selection) addSample(sample pprofile.Sample) {
	s.addStack(sample.StackIndex())
	s.addLink(sample.LinkIndex())
	s.addAttributes(sample.AttributeIndices())
}

// mark is a point to go back to.
type mark struct {
	lengths      [7]int
	bytes, fresh int
}

func (s *selection) mark() mark {
	m := mark{bytes: s.bytes, fresh: s.fresh}
	for i, table := range s.tables() {
		m.lengths[i] = len(table.entries)
	}
	return m
}

// goBack forgets what was chosen since the mark.
func (s *selection) goBack(to mark) {
	s.bytes, s.fresh = to.bytes, to.fresh
	for k, table := range s.tables() {
		for _, i := range table.entries[to.lengths[k]:] {
			table.state[i] &^= inPart
		}
		table.entries = table.entries[:to.lengths[k]]
	}
}

// next begins with another part.
func (s *selection) next() {
	for _, table := range s.tables() {
		for _, i := range table.entries {
			table.state[i] = hadBefore
		}
		table.entries = table.entries[:0]
	}
}

// number gives the chosen entries their new indices, in the order of the source: so none gets a larger one.
func (c *choice) number() {
	slices.Sort(c.entries)
	for k, i := range c.entries {
		c.to[i] = int32(k + 1)
	}
}

func (s *selection) fault() error {
	if s.err == nil {
		return nil
	}
	return fmt.Errorf("cannot part a message: %w", s.err)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// selection chooses the dictionary entries for one part of a message after the other, with all entries to which they refer,
// and copies them to the dictionary of the part. The time is linear in the size of the parts: a chosen entry is not visited
// again.
//
// Entry 0 is the zero value in every dictionary. It is in every part, and is never chosen.
type selection struct {
	source pprofile.ProfilesDictionary
	of     [dictionary.NumTables]choice
	// choose chooses the entries to which a profile or sample refers. rename replaces their indices by those in the part.
	choose, rename *dictionary.Visit

	// bytes is the size of the chosen entries of all parts in protobuf, fresh the size of those that no earlier part has.
	bytes, fresh int
	// err is the first index without an entry, or attribute that is nested too deep. A canonical message has neither.
	err error
}

// choice has the chosen entries of one table.
type choice struct {
	// inPart is true for each entry that is chosen for the current part, hadBefore for each that an earlier part has.
	inPart, hadBefore []bool
	// entries are the entries that are chosen for the current part.
	entries []int32
	// to has the index of each entry in the current part, after write.
	to []int32
}

func newSelection(source pprofile.ProfilesDictionary) *selection {
	s := &selection{source: source}
	s.choose, s.rename = dictionary.NewVisit(s.chooseEntry), dictionary.NewVisit(nil)
	for t, n := range dictionary.LengthsOf(source) {
		c := choice{inPart: make([]bool, n), hadBefore: make([]bool, n), to: make([]int32, max(n, 1))}
		s.of[t], s.choose[t].Known, s.rename[t].To = c, c.inPart, c.to
	}
	return s
}

// chooseEntry chooses an entry for the current part, with all entries to which it refers.
func (s *selection) chooseEntry(t dictionary.Table, i int32) int32 {
	c := &s.of[t]
	if i < 0 || int(i) >= len(c.inPart) {
		if s.err == nil {
			s.err = &dictionary.IndexError{Table: dictionary.TableNames[t], Index: i, Len: len(c.inPart)}
		}
		return i
	}
	c.inPart[i] = true
	c.entries = append(c.entries, i)
	if t == dictionary.Attributes && s.err == nil {
		s.err = s.checkAttribute(i)
	}
	s.add(dictionary.FieldBytes(dictionary.EntryBytes(s.source, t, int(i))), !c.hadBefore[i])
	s.choose.Entries(s.source, t, int(i), int(i)+1, nil)
	return i
}

func (s *selection) add(bytes int, fresh bool) {
	s.bytes += bytes
	if fresh {
		s.fresh += bytes
	}
}

func (s *selection) checkAttribute(i int32) error {
	a := s.source.AttributeTable().At(int(i))
	if !attributevalue.TooDeep(a.Value()) {
		return nil
	}
	key := ""
	if i := int(a.KeyStrindex()); i > 0 && i < s.source.StringTable().Len() {
		key = s.source.StringTable().At(i)
	}
	return &attributevalue.TooDeepError{Key: key}
}

// mark is a state of the selection, for rollBack.
type mark struct {
	lengths      dictionary.Lengths
	bytes, fresh int
}

func (s *selection) mark() mark {
	m := mark{bytes: s.bytes, fresh: s.fresh}
	for t := range s.of {
		m.lengths[t] = len(s.of[t].entries)
	}
	return m
}

// rollBack removes the entries that were chosen since the mark.
func (s *selection) rollBack(to mark) {
	s.bytes, s.fresh = to.bytes, to.fresh
	for t := range s.of {
		c := &s.of[t]
		for _, i := range c.entries[to.lengths[t]:] {
			c.inPart[i] = false
		}
		c.entries = c.entries[:to.lengths[t]]
	}
}

// next begins the next part.
func (s *selection) next() {
	for t := range s.of {
		c := &s.of[t]
		for _, i := range c.entries {
			c.inPart[i], c.hadBefore[i] = false, true
		}
		c.entries = c.entries[:0]
	}
}

// write fills an empty dictionary with the chosen entries, in the order of the source, so no index grows. The caller must then
// replace the indices in the profiles with rename.
func (s *selection) write(d pprofile.ProfilesDictionary) {
	for t := range s.of {
		c := &s.of[t]
		slices.Sort(c.entries)
		for k, i := range c.entries {
			c.to[i] = int32(k + 1)
		}
	}
	for t := range dictionary.NumTables {
		entries := s.of[t].entries
		dictionary.CopyEntries(d, s.source, t, entries)
		s.rename.Entries(d, t, 1, len(entries)+1, nil)
	}
}

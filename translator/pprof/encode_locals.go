// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// locals gives the entries that one pprof reaches their ids in it, in the order of first use. Strings are those of the
// encoding's dictionary, all else stands in the tables of the message.
type locals struct {
	strings   numbering
	functions numbering
	locations numbering
	mappings  numbering
	// emptyString is the string index of a second empty string, 0 if there is none: index 0 says that a label has no
	// string, so a label that is the empty string needs another one.
	emptyString uint32
}

// numbering numbers entries of a table of the dictionary from 1. What it knows of earlier pprofs is told apart by their
// generation, so that beginning anew costs nothing.
type numbering struct {
	generation uint32
	numbers    []stampedNumber
	list       []int32
}

type stampedNumber struct{ generation, number uint32 }

func (l *locals) begin(t *encoding) {
	l.strings.begin(t.dict.Len().Strings)
	l.functions.begin(t.source.functions.Len())
	l.locations.begin(t.source.locations.Len())
	l.mappings.begin(t.source.mappings.Len())
	l.emptyString = 0
}

func (n *numbering) begin(size int) {
	n.list = n.list[:0]
	n.generation++
	if n.generation == 0 { // all generations were used
		clear(n.numbers)
		n.generation = 1
	}
	n.grow(size)
}

func (n *numbering) grow(size int) {
	if size > len(n.numbers) {
		n.numbers = append(n.numbers, make([]stampedNumber, size-len(n.numbers))...)
	}
}

// local returns the number of an entry.
func (n *numbering) local(entry int32) uint32 {
	if int(entry) >= len(n.numbers) {
		n.grow(2 * int(entry+1))
	}
	at := &n.numbers[entry]
	if at.generation != n.generation {
		n.list = append(n.list, entry)
		*at = stampedNumber{n.generation, uint32(len(n.list))}
	}
	return at.number
}

// packKnown writes the numbers of entries from i on to ids[size:], until one has none, and returns where it ended. Most of the
// time for a deep stack is spent here.
func (n *numbering) packKnown(ids []byte, size int, entries pcommon.Int32Slice, i int) (end, next int) {
	numbers, generation := n.numbers, n.generation
	for length := entries.Len(); i < length; i++ {
		entry := uint(entries.At(i))
		if entry >= uint(len(numbers)) || numbers[entry].generation != generation {
			break
		}
		size = pprofwire.PutID(ids, size, numbers[entry].number)
	}
	return size, i
}

// string returns the index of a string of the dictionary in the pprof's string table, where 0 is the empty string.
func (l *locals) string(entry int32) uint32 {
	if entry == 0 {
		return 0
	}
	return l.strings.local(entry)
}

// labelString is string for the value of a label, where 0 would say that there is none.
func (l *locals) labelString(entry int32) uint32 {
	if entry != 0 {
		return l.strings.local(entry)
	}
	if l.emptyString == 0 {
		l.strings.list = append(l.strings.list, 0)
		l.emptyString = uint32(len(l.strings.list))
	}
	return l.emptyString
}

// stringList returns the string table: entries of the dictionary.
func (l *locals) stringList() []int32 {
	l.strings.list = slices.Insert(l.strings.list, 0, 0)
	return l.strings.list
}

// markMapping notes that a mapping is reached; 0 is none.
func (l *locals) markMapping(entry int32) {
	if entry != 0 {
		l.mappings.local(entry)
	}
}

// numberMappings gives all mappings that were marked their final ids, those behind last, and returns them: first, unless that
// is 0, then the others in the order of their table.
func (l *locals) numberMappings(first int32, last uint32) []int32 {
	list := l.mappings.list
	slices.Sort(list)
	if i := slices.Index(list, first); i > 0 {
		copy(list[1:i+1], list[:i])
		list[0] = first
	}
	for i, entry := range list {
		l.mappings.numbers[entry].number = last + uint32(i+1)
	}
	return list
}

// mappingID returns the id of a mapping that was marked.
func (l *locals) mappingID(entry int32) uint64 {
	if entry == 0 {
		return 0
	}
	return uint64(l.mappings.local(entry))
}

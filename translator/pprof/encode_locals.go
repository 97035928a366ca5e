// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// locals assigns ids in one pprof to entries of the message, in the order of first use. Strings are entries of
// encoding.dict, all others are entries of the tables of the message.
type locals struct {
	strings   numbering
	functions numbering
	locations numbering
	mappings  numbering
	// emptyString is the index of a second empty string, or 0. Index 0 means that a label has no string, so labels with
	// an empty string need it.
	emptyString uint32
}

// numbering numbers the entries of a table from 1 in one pprof, in the order of first use.
type numbering struct {
	// numbers has the number of each entry, or 0.
	numbers []uint32
	// list has the entries by number.
	list []int32
}

func (l *locals) begin(t *encoding) {
	l.strings.begin(t.dict.Len()[dictionary.Strings])
	l.functions.begin(t.importer.source.FunctionTable().Len())
	l.locations.begin(t.importer.source.LocationTable().Len())
	l.mappings.begin(t.importer.source.MappingTable().Len())
	l.emptyString = 0
}

// begin forgets all numbers. The table has this many entries, and may grow.
func (n *numbering) begin(size int) {
	for _, entry := range n.list {
		n.numbers[entry] = 0
	}
	n.list = n.list[:0]
	n.grow(size)
}

func (n *numbering) grow(size int) {
	if size > len(n.numbers) {
		n.numbers = append(n.numbers, make([]uint32, size-len(n.numbers))...)
	}
}

func (n *numbering) kept() int { return scratch.Bytes(n.numbers) + scratch.Bytes(n.list) }

// find returns the number of an entry, or 0 if it has none.
func (n *numbering) find(entry int32) uint32 {
	if uint(entry) >= uint(len(n.numbers)) {
		return 0
	}
	return n.numbers[entry]
}

// local returns the number of an entry, which it assigns on first use.
func (n *numbering) local(entry int32) uint32 {
	if number := n.find(entry); number != 0 {
		return number
	}
	if int(entry) >= len(n.numbers) {
		n.grow(2 * int(entry+1))
	}
	n.list = append(n.list, entry)
	n.numbers[entry] = uint32(len(n.list))
	return n.numbers[entry]
}

// packKnown appends the numbers of entries[i:] to ids[:size], up to the first entry without a number, and returns the new
// size and index. With deep stacks, most of the encoding time is spent here.
func (n *numbering) packKnown(ids []byte, size int, entries pcommon.Int32Slice, i int) (end, next int) {
	numbers := n.numbers
	for length := entries.Len(); i < length; i++ {
		entry := uint(entries.At(i))
		if entry >= uint(len(numbers)) || numbers[entry] == 0 {
			break
		}
		number := numbers[entry]
		if number >= pprofwire.LongID {
			size = pprofwire.PutLongID(ids, size, number)
			continue
		}
		size = pprofwire.PutShortID(ids, size, number)
	}
	return size, i
}

// localOrNone is local for a table whose entry 0 means that there is none, in the message and in the pprof.
func (n *numbering) localOrNone(entry int32) uint32 {
	if entry == 0 {
		return 0
	}
	return n.local(entry)
}

// string returns the index in the pprof of a string of the dictionary. The empty string is 0.
func (l *locals) string(entry int32) uint32 { return l.strings.localOrNone(entry) }

// labelString is like string for the value of a label, where 0 would mean that there is no string.
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

// numberMappings assigns the final ids of all mappings that have one, starting after last, and returns them: first,
// unless it is 0, then the others in the order of their table.
func (l *locals) numberMappings(first int32, last uint32) []int32 {
	list := l.mappings.list
	slices.Sort(list)
	if i := slices.Index(list, first); i > 0 {
		copy(list[1:i+1], list[:i])
		list[0] = first
	}
	for i, entry := range list {
		l.mappings.numbers[entry] = last + uint32(i+1)
	}
	return list
}

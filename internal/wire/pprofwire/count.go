// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"unsafe"
)

// counts has the number of entries of each table.
type counts struct {
	sampleTypes, samples, locationIDs, values, labels int
	mappings, locations, lines, functions             int
	strings, comments, repeats                        int
}

// bytes returns the memory of tables with these numbers of entries.
func (n *counts) bytes() int64 {
	return int64(n.sampleTypes)*sizeOf[ValueType]() + int64(n.samples)*sizeOf[Sample]() + int64(n.locationIDs+n.values)*8 +
		int64(n.labels)*sizeOf[Label]() + int64(n.mappings)*sizeOf[Mapping]() + int64(n.locations)*sizeOf[Location]() +
		int64(n.lines)*sizeOf[Line]() + int64(n.functions)*sizeOf[Function]() + int64(n.strings)*sizeOf[span]() +
		int64(n.comments)*4 + int64(n.repeats)*sizeOf[repeat]()
}

func sizeOf[T any]() int64 { return int64(unsafe.Sizeof(*new(T))) }

// count reads the tags of a payload and returns the number of entries of each table. The error is that for an exceeded limit.
// count stops at the first field that it cannot skip. Read returns the error for that field, and finds no more entries before
// it than count.
func count(raw []byte, limits *Limits) (n counts, err error) {
	for tag, b := range fields(raw) {
		switch tag {
		case 1<<3 | wireBytes:
			n.sampleTypes++
		case 2<<3 | wireBytes:
			err = n.countSample(b, limits)
		case 3<<3 | wireBytes:
			n.mappings++
		case 4<<3 | wireBytes:
			err = n.countLocation(b, limits)
		case 5<<3 | wireBytes:
			n.functions++
		case 6<<3 | wireBytes:
			n.strings++
		case 13<<3 | wireVarint:
			n.comments++
		case 13<<3 | wireBytes:
			n.comments += CountVarints(b)
		}
		if err != nil {
			return n, err
		}
	}
	err = n.check(limits)
	return n, err
}

// fields iterates over the tags and the contents of fields, up to the first one that is malformed.
func fields(b []byte) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		for end := 0; end < len(b); {
			tag, start := uvarint(b, end)
			switch {
			case start < 0:
				return
			case tag&7 == wireBytes:
				start, end = message(b, start)
			default:
				end = skip(b, start, int(tag&7))
			}
			if end < 0 || !yield(tag, b[start:end]) {
				return
			}
		}
	}
}

func (n *counts) countSample(b []byte, limits *Limits) error {
	ids, labels := 0, 0
	for tag, content := range fields(b) {
		switch tag {
		case 1<<3 | wireVarint:
			ids++
		case 1<<3 | wireBytes:
			ids += CountVarints(content)
		case 2<<3 | wireVarint:
			n.values++
		case 2<<3 | wireBytes:
			n.values += CountVarints(content)
		case 3<<3 | wireBytes:
			labels++
		}
	}
	n.samples++
	n.locationIDs += ids
	n.labels += labels
	return limits.checkSample(n.samples-1, ids, labels)
}

func (n *counts) countLocation(b []byte, limits *Limits) error {
	lines := 0
	for tag := range fields(b) {
		if tag == 4<<3|wireBytes {
			lines++
		}
	}
	n.locations++
	n.lines += lines
	return limits.checkLocation(n.locations-1, lines)
}

// CountVarints returns the number of varints in b. It counts the bytes that end a varint: those below 0x80.
func CountVarints(b []byte) (n int) {
	const tops = 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		n += bits.OnesCount64(^binary.LittleEndian.Uint64(b) & tops)
	}
	for _, c := range b {
		n += int(^c >> 7)
	}
	return n
}

// push adds an entry to one of p's tables.
func push[T any](p *Profile, table *[]T, entry T, limits *Limits) error {
	if len(*table) == cap(*table) {
		if err := p.growTables(1, limits); err != nil {
			return err
		}
	}
	*table = append(*table, entry)
	return nil
}

// growTables allocates each table in its final size. It is called when a table is full and more entries follow. The first call
// counts the entries of the payload.
func (p *Profile) growTables(more int, limits *Limits) (err error) {
	if !p.counted {
		if p.total, err = count(p.raw, limits); err != nil {
			return err
		}
		p.counted = true
	}
	n := p.total
	if p.repeats != nil {
		// Repeated parts are left out, so the final sizes of these two tables are not known. They grow in steps.
		n.locationIDs = min(n.locationIDs, stepFrom(len(p.LocationIDs), more))
		n.labels = min(n.labels, stepFrom(len(p.Labels), more))
		n.repeats = n.samples
	}
	if err := limits.Memory.Need(n.bytes()); err != nil {
		return err
	}
	p.SampleTypes = withCapacity(p.SampleTypes, n.sampleTypes)
	p.Samples = withCapacity(p.Samples, n.samples)
	p.LocationIDs = withCapacity(p.LocationIDs, n.locationIDs)
	p.Values = withCapacity(p.Values, n.values)
	p.Labels = withCapacity(p.Labels, n.labels)
	p.Mappings = withCapacity(p.Mappings, n.mappings)
	p.Locations = withCapacity(p.Locations, n.locations)
	p.Lines = withCapacity(p.Lines, n.lines)
	p.Functions = withCapacity(p.Functions, n.functions)
	p.strings = withCapacity(p.strings, n.strings)
	p.Comments = withCapacity(p.Comments, n.comments)
	p.Repeats = withCapacity(p.Repeats, n.repeats)
	return nil
}

func stepFrom(length, more int) int { return max(2*length, length+more, 256) }

// withCapacity returns table with a capacity of at least n entries.
func withCapacity[T any](table []T, n int) []T {
	if n <= cap(table) {
		return table
	}
	return append(make([]T, 0, n), table...)
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// quality returns what the index will know.
func (b *Builder) quality() Quality {
	switch {
	case len(b.sequences) > 0:
		return QualityLines
	case b.HasRanges(LayerDebug) || b.HasRanges(LayerSymbols):
		return QualitySymbols
	}
	return QualityNone
}

// WriteTo writes the index, and returns what it knows. The builder must not be used afterwards.
func (b *Builder) WriteTo(w io.WriterAt) (Quality, error) {
	if b.err != nil {
		return QualityNone, b.err
	}
	entries, err := b.entries()
	if err != nil {
		return QualityNone, err
	}
	rows, err := b.sortedRows()
	if err != nil {
		return QualityNone, err
	}
	body := io.NewOffsetWriter(w, int64(headerSize))
	checksum := crc32.New(castagnoli)
	out := bufio.NewWriterSize(io.MultiWriter(body, checksum), 64<<10)
	words := func(values ...uint32) {
		var word [4]byte
		for _, v := range values {
			binary.LittleEndian.PutUint32(word[:], v)
			_, _ = out.Write(word[:]) // Flush returns the error.
		}
	}
	for _, s := range b.segments {
		for _, v := range []uint64{s.Offset, s.Address, s.FileSize, s.MemorySize} {
			words(uint32(v), uint32(v>>32))
		}
	}
	for _, e := range entries {
		words(e.address, e.node)
	}
	for _, n := range b.nodes {
		words(n.function, n.parent, n.callFile, n.callLine, n.callColumn)
	}
	for _, f := range b.functions {
		words(f.name, f.systemName, f.startLine)
	}
	for _, r := range rows {
		words(r.address, r.file, r.line, r.column)
	}
	_, _ = out.Write(b.texts)
	if err := out.Flush(); err != nil {
		return QualityNone, err
	}
	counts := [numTables]int{len(b.segments), len(entries), len(b.nodes), len(b.functions), len(rows), len(b.texts)}
	header := append(make([]byte, 0, headerSize), magic...)
	header = binary.LittleEndian.AppendUint64(header, b.base)
	header = binary.LittleEndian.AppendUint32(header, 0)
	quality := b.quality()
	header = binary.LittleEndian.AppendUint32(header, uint32(quality))
	for _, n := range counts {
		header = binary.LittleEndian.AppendUint32(header, uint32(n))
	}
	binary.LittleEndian.PutUint32(header[checksumAt:], crc32.Update(checksum.Sum32(), castagnoli, header))
	_, err = w.WriteAt(header, 0)
	return quality, err
}

// entry of the table of ranges: the node holds from the address on.
type entry struct{ address, node uint32 }

// flatten makes disjoint spans of some that are within each other: the innermost holds.
func flatten(spans []span) []span {
	// Outer spans first. The order of equal ones stays, so that the inner one comes after its parent.
	slices.SortStableFunc(spans, func(x, y span) int {
		return cmp.Or(cmp.Compare(x.low, y.low), cmp.Compare(y.high, x.high))
	})
	flat := make([]span, 0, len(spans))
	var open []span
	position := uint32(0)
	upTo := func(address uint32) {
		for len(open) > 0 {
			top := open[len(open)-1]
			if end := min(top.high, address); end > position {
				flat = append(flat, span{position, end, top.node})
				position = end
			}
			if top.high > address {
				break
			}
			open = open[:len(open)-1]
		}
	}
	for _, s := range spans {
		upTo(s.low)
		position = max(position, s.low)
		open = append(open, s)
	}
	upTo(^uint32(0))
	return flat
}

// overlay returns the entries of disjoint spans. Those of below hold where there is none of above.
func overlay(above, below []span) []entry {
	var entries []entry
	add := func(low, high, node uint32) {
		if low >= high {
			return
		}
		if n := len(entries); n > 0 && entries[n-1].address == low {
			entries = entries[:n-1]
		}
		if n := len(entries); n == 0 || entries[n-1].node != node {
			entries = append(entries, entry{low, node})
		}
		entries = append(entries, entry{high, 0})
	}
	// fill adds what is between two addresses.
	fill := func(low, high uint32) {
		for len(below) > 0 && below[0].low < high {
			add(max(low, below[0].low), min(high, below[0].high), below[0].node)
			if below[0].high > high {
				return
			}
			below = below[1:]
		}
	}
	position := uint32(0)
	for _, s := range above {
		fill(position, s.low)
		add(s.low, s.high, s.node)
		position = s.high
	}
	fill(position, ^uint32(0))
	return entries
}

// entries returns the table of ranges.
func (b *Builder) entries() ([]entry, error) {
	n := 0
	for _, spans := range b.layers {
		n += len(spans)
	}
	// Each span can end twice as many spans, and each of these be two entries.
	if err := b.memory.Use(int64(n) * (2*12 + 3*2*rangeSize)); err != nil {
		return nil, err
	}
	return overlay(flatten(b.layers[LayerDebug]), flatten(b.layers[LayerSymbols])), nil
}

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"
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

// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Table is an index that was written. Another process can change the bytes at any time, such as a damaged disk does: each number is
// checked when it is used. Safe for concurrent use.
type Table struct {
	data     []byte
	base     uint64
	segments []Segment
	tables   [numTables][]byte
}

// Read validates an index and returns it. It refers to data.
func Read(data []byte) (*Table, error) {
	if len(data) < headerSize || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrInvalid)
	}
	t := &Table{data: data, base: binary.LittleEndian.Uint64(data[baseAt:])}
	rest := data[headerSize:]
	for i := range t.tables {
		size := uint64(binary.LittleEndian.Uint32(data[countsAt+4*i:])) * uint64(entrySize[i])
		if size > uint64(len(rest)) {
			return nil, fmt.Errorf("%w: table %d has %d bytes, there are %d", ErrInvalid, i, size, len(rest))
		}
		t.tables[i], rest = rest[:size:size], rest[size:]
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%w: %d bytes after it", ErrInvalid, len(rest))
	}
	var header [headerSize]byte
	copy(header[:], data)
	clear(header[checksumAt : checksumAt+4])
	sum := crc32.Update(crc32.Checksum(data[headerSize:], castagnoli), castagnoli, header[:])
	if stored := binary.LittleEndian.Uint32(data[checksumAt:]); sum != stored {
		return nil, fmt.Errorf("%w: its checksum is %08x, not %08x", ErrInvalid, sum, stored)
	}
	for b := t.tables[segmentTable]; len(b) > 0; b = b[segmentSize:] {
		t.segments = append(t.segments, Segment{
			binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:]),
		})
	}
	return t, nil
}

// Frame is a function at a place. The file is a text, the function a number.
type Frame struct {
	Function uint32
	Place
}

// maxFrames limits the frames of an address.
const maxFrames = 256

// Lookup appends the frames of an address of the ELF file, the innermost first.
func (t *Table) Lookup(frames []Frame, address uint64) []Frame {
	if address < t.base || address-t.base >= 1<<32 {
		return frames
	}
	relative := uint32(address - t.base)
	number := t.word(rangeTable, t.find(rangeTable, relative), 1)
	at := t.find(rowTable, relative)
	place := Place{t.word(rowTable, at, 1), t.word(rowTable, at, 2), t.word(rowTable, at, 3)}
	for range maxFrames {
		function := t.word(nodeTable, int(number), 0)
		if number == 0 || function == 0 {
			break
		}
		frames = append(frames, Frame{function, place})
		place = Place{t.word(nodeTable, int(number), 2), t.word(nodeTable, int(number), 3), t.word(nodeTable, int(number), 4)}
		parent := t.word(nodeTable, int(number), 1)
		if parent >= number { // A builder makes parents first: this cannot go in a circle.
			break
		}
		number = parent
	}
	return frames
}

// find returns the last entry whose address is at most this one, or -1.
func (t *Table) find(table table, address uint32) int {
	data, size := t.tables[table], entrySize[table]
	low, high := 0, len(data)/size
	for low < high {
		if middle := int(uint(low+high) >> 1); binary.LittleEndian.Uint32(data[middle*size:]) > address {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low - 1
}

// word returns a field of an entry, and 0 if there is no such entry.
func (t *Table) word(table table, i, field int) uint32 {
	data, size := t.tables[table], entrySize[table]
	if i < 0 || i >= len(data)/size {
		return 0
	}
	return binary.LittleEndian.Uint32(data[i*size+4*field:])
}

// Names are the texts of a frame. They belong to the index.
type Names struct {
	Name, SystemName, Filename []byte
	StartLine                  uint32
}

// Names returns the name of the function of a frame, the one that the linker knows, its file, and the line where it starts.
func (t *Table) Names(frame Frame) Names {
	i := int(frame.Function)
	return Names{t.text(t.word(functionTable, i, 0)), t.text(t.word(functionTable, i, 1)), t.text(frame.File), t.word(functionTable, i, 2)}
}

func (t *Table) text(offset uint32) []byte {
	texts := t.tables[textTable]
	if uint64(offset) >= uint64(len(texts)) {
		return nil
	}
	size, n := binary.Uvarint(texts[offset:])
	if n <= 0 || size > uint64(len(texts))-uint64(offset)-uint64(n) {
		return nil
	}
	begin := int(offset) + n
	return texts[begin : begin+int(size)]
}

// pageSize is the smallest size of a page: memory is mapped in pages.
const pageSize = 4096

// Mapping is where a part of a binary is in the memory of a process.
type Mapping struct{ Start, Limit, Offset uint64 }

// Address returns the address in the ELF file of an address in a process. The eBPF profiler sends addresses of the ELF file already, with
// a start of the mapping to match; the result is the same.
func (t *Table) Address(m Mapping, address uint64) uint64 {
	if m.Start == 0 && m.Offset == 0 {
		return address // Nothing is mapped at address 0: these are addresses of the ELF file.
	}
	var unplaced []Segment
	for _, s := range t.segments {
		switch page := s.Address % pageSize; {
		case s.FileSize == 0 && s.MemorySize > 0:
			unplaced = append(unplaced, s)
		case m.Offset+page >= s.Offset && m.Offset < s.Offset+s.FileSize:
			return address - m.Start + m.Offset - s.Offset + s.Address
		}
	}
	// A file of debug information that objcopy made says nothing of the place of the code in the binary. Code is mapped from its first
	// page on, and as a whole: the size says which segment it is. Of a part, nothing says which one it is: no name is better than a wrong one.
	size := m.Limit - m.Start
	for _, s := range unplaced {
		first := s.Address - s.Address%pageSize
		if mapped := (s.Address + s.MemorySize - first + pageSize - 1) &^ (pageSize - 1); mapped == size {
			return address - m.Start + first
		}
	}
	return t.addressInFile(m, address)
}

// addressInFile is for a mapping that begins before the code, such as one of a whole file: its addresses are those of the ELF file, or lie
// as in the file.
func (t *Table) addressInFile(m Mapping, address uint64) uint64 {
	offset := address - m.Start + m.Offset
	for _, s := range t.segments {
		if address >= s.Address && address-s.Address < s.MemorySize {
			return address
		}
	}
	for _, s := range t.segments {
		if offset >= s.Offset && offset-s.Offset < s.FileSize {
			return offset - s.Offset + s.Address
		}
	}
	return address
}

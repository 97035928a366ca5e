// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package elffile reads ELF files that can be hostile: sizes are checked and counted before anything is allocated or inflated.
package elffile // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// ErrMalformed says that a file is not a valid ELF file.
var ErrMalformed = errors.New("malformed ELF file")

func malformed(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, arguments...))
}

const (
	maxSections     = 1 << 14
	maxSegments     = 1 << 12
	maxSectionNames = 4 << 20
	// maxSectionName is more than the names have that are looked for. Many sections can share a long one.
	maxSectionName = 64
)

// File is an open ELF file. It is not safe for concurrent use.
type File struct {
	Order    binary.ByteOrder
	Is64     bool
	Sections []Section
	Segments []Segment

	reader io.ReaderAt
	size   int64
	memory *meter.Meter
}

// Section is a section header.
type Section struct {
	Name                  string
	Type                  elf.SectionType
	Flags                 elf.SectionFlag
	Link                  uint32
	Address, Offset, Size uint64
}

// HasData reports whether the file has the bytes of the section. A file of debug information does not have those of the code.
func (s *Section) HasData() bool { return s.Type != elf.SHT_NOBITS && s.Type != elf.SHT_NULL }

// Segment is a program header.
type Segment struct {
	Type                                  elf.ProgType
	Flags                                 elf.ProgFlag
	Offset, Address, FileSize, MemorySize uint64
}

// Open reads the headers of an ELF file. memory counts all that is read from it.
func Open(reader io.ReaderAt, size int64, memory *meter.Meter) (*File, error) {
	f := &File{reader: reader, size: size, memory: memory}
	var head [64]byte
	if size < 52 {
		return nil, malformed("it has %d bytes", size)
	}
	if _, err := reader.ReadAt(head[:min(size, 64)], 0); err != nil {
		return nil, fmt.Errorf("cannot read the header: %w", err)
	}
	if !bytes.HasPrefix(head[:], []byte("\x7fELF")) {
		return nil, malformed("it does not begin as one")
	}
	switch class, order := head[4], head[5]; {
	case class != 1 && class != 2:
		return nil, malformed("its class is %d", class)
	case order == 1:
		f.Order, f.Is64 = binary.LittleEndian, class == 2
	case order == 2:
		f.Order, f.Is64 = binary.BigEndian, class == 2
	default:
		return nil, malformed("its byte order is %d", order)
	}
	if err := f.readHeaders(head[:]); err != nil {
		return nil, err
	}
	return f, nil
}

// headers says where the tables of headers are.
type headers struct {
	segments, sections                                   uint64
	segmentSize, segmentCount, sectionSize, sectionCount int
	names                                                int
}

func (f *File) headers(head []byte) headers {
	short := func(at int) int { return int(f.Order.Uint16(head[at:])) }
	if f.Is64 {
		return headers{
			segments: f.Order.Uint64(head[32:]), sections: f.Order.Uint64(head[40:]),
			segmentSize: short(54), segmentCount: short(56), sectionSize: short(58), sectionCount: short(60), names: short(62),
		}
	}
	return headers{
		segments: uint64(f.Order.Uint32(head[28:])), sections: uint64(f.Order.Uint32(head[32:])),
		segmentSize: short(42), segmentCount: short(44), sectionSize: short(46), sectionCount: short(48), names: short(50),
	}
}

func (f *File) readHeaders(head []byte) error {
	h := f.headers(head)
	segmentBytes, sectionBytes := 32, 40
	if f.Is64 {
		segmentBytes, sectionBytes = 56, 64
	}
	if h.segmentCount > 0 && h.segmentSize != segmentBytes || h.segmentCount > maxSegments {
		return malformed("%d program headers of %d bytes", h.segmentCount, h.segmentSize)
	}
	if h.sectionCount > 0 && h.sectionSize != sectionBytes || h.sectionCount > maxSections {
		return malformed("%d section headers of %d bytes", h.sectionCount, h.sectionSize)
	}
	segments, err := f.Read(h.segments, uint64(h.segmentCount*segmentBytes))
	if err != nil {
		return err
	}
	for ; len(segments) > 0; segments = segments[segmentBytes:] {
		f.Segments = append(f.Segments, f.segment(segments))
	}
	sections, err := f.Read(h.sections, uint64(h.sectionCount*sectionBytes))
	if err != nil {
		return err
	}
	return f.readSections(sections, sectionBytes, h.names)
}

func (f *File) segment(b []byte) Segment {
	if f.Is64 {
		return Segment{
			Type: elf.ProgType(f.Order.Uint32(b)), Flags: elf.ProgFlag(f.Order.Uint32(b[4:])), Offset: f.Order.Uint64(b[8:]), Address: f.Order.Uint64(b[16:]),
			FileSize: f.Order.Uint64(b[32:]), MemorySize: f.Order.Uint64(b[40:]),
		}
	}
	word := func(at int) uint64 { return uint64(f.Order.Uint32(b[at:])) }
	return Segment{
		Type: elf.ProgType(f.Order.Uint32(b)), Flags: elf.ProgFlag(f.Order.Uint32(b[24:])), Offset: word(4), Address: word(8), FileSize: word(16), MemorySize: word(20),
	}
}

func (f *File) section(b []byte) Section {
	if f.Is64 {
		return Section{
			Type: elf.SectionType(f.Order.Uint32(b[4:])), Flags: elf.SectionFlag(f.Order.Uint64(b[8:])), Address: f.Order.Uint64(b[16:]),
			Offset: f.Order.Uint64(b[24:]), Size: f.Order.Uint64(b[32:]), Link: f.Order.Uint32(b[40:]),
		}
	}
	word := func(at int) uint64 { return uint64(f.Order.Uint32(b[at:])) }
	return Section{
		Type: elf.SectionType(f.Order.Uint32(b[4:])), Flags: elf.SectionFlag(f.Order.Uint32(b[8:])), Address: word(12), Offset: word(16), Size: word(20),
		Link: f.Order.Uint32(b[24:]),
	}
}

func (f *File) readSections(table []byte, size, names int) error {
	if len(table) == 0 {
		return nil
	}
	if names*size >= len(table) {
		return malformed("section %d, which has the names, does not exist", names)
	}
	section := f.section(table[names*size:])
	if section.Size > maxSectionNames {
		return malformed("%d bytes of names of sections", section.Size)
	}
	var texts []byte
	if section.HasData() {
		var err error
		if texts, err = f.Read(section.Offset, section.Size); err != nil {
			return err
		}
	}
	for ; len(table) > 0; table = table[size:] {
		section := f.section(table)
		if name := TextBytes(texts, uint64(f.Order.Uint32(table))); len(name) <= maxSectionName {
			section.Name = string(name)
		}
		f.Sections = append(f.Sections, section)
	}
	return nil
}

// MaxText is the longest text that is read: longer ones are no names.
const MaxText = 64 << 10

// Text returns the text at an offset, which a zero byte ends. It is empty if there is none.
func Text(table []byte, offset uint64) string { return string(TextBytes(table, offset)) }

// TextBytes is [Text] without a copy. It is nil if there is none.
func TextBytes(table []byte, offset uint64) []byte {
	if offset >= uint64(len(table)) {
		return nil
	}
	rest := table[offset:]
	end := bytes.IndexByte(rest[:min(len(rest), MaxText)], 0)
	if end < 0 {
		return nil
	}
	return rest[:end]
}

// Read reads a part of the file.
func (f *File) Read(offset, size uint64) ([]byte, error) {
	if offset > uint64(f.size) || size > uint64(f.size)-offset || size > math.MaxInt {
		return nil, malformed("%d bytes at %d are outside of its %d bytes", size, offset, f.size)
	}
	if size == 0 {
		return nil, nil
	}
	if err := f.memory.Use(int64(size)); err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if _, err := f.reader.ReadAt(data, int64(offset)); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read %d bytes at %d: %w", size, offset, err)
	}
	return data, nil
}

// Section returns the first section with a name that the file has the bytes of, or nil.
func (f *File) Section(name string) *Section {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Name == name && s.HasData() {
			return s
		}
	}
	return nil
}
